package awssdk

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func TestSecret(t *testing.T) {
	s := emulated(t)
	c := secretsmanager.NewFromConfig(s.Config)
	var generated string
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: &id})
		if err != nil {
			return nil, err
		}
		v, err := c.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id})
		if err != nil {
			return nil, err
		}
		generated = *v.SecretString
		got := []string{aws.ToString(out.Description)}
		for _, tag := range out.Tags {
			if *tag.Key != provider.OwnerTagKey {
				got = append(got, *tag.Key+"="+*tag.Value)
			}
		}
		slices.Sort(got[1:])
		return got, nil
	}
	const how = `"GenerateSecretString": {"SecretStringTemplate": "{\"user\":\"me\"}", "GenerateStringKey": "password", "PasswordLength": "20", "ExcludePunctuation": "true"}`
	var first string
	life{
		typ: "AWS::SecretsManager::Secret", physical: "shop/secret",
		steps: []step{
			{"create", `{"Description": "d", ` + how + `, "Tags": [{"Key": "a", "Value": "1"}]}`, seen, []string{"d", "a=1"}},
			{"change what is not the value", `{"Description": "e", ` + how + `, "Tags": [{"Key": "b", "Value": "2"}]}`,
				func(ctx context.Context, id string) (any, error) {
					first = generated
					o, err := value.ParseObject([]byte(first))
					if err != nil || o.String("user") != "me" || len(o.String("password")) != 20 {
						t.Errorf("the generated value is not as asked for (length %d)", len(first))
					}
					got, err := seen(ctx, id)
					if generated != first {
						t.Error("the value was generated anew")
					}
					return got, err
				}, []string{"e", "b=2"}},
			{"change how it is generated", `{"Description": "e", "GenerateSecretString": {"PasswordLength": 30}}`,
				func(ctx context.Context, id string) (any, error) {
					got, err := seen(ctx, id)
					return []any{got, len(generated)}, err
				}, []any{[]string{"e"}, 30}},
			{"give it", `{"SecretString": "given"}`, func(ctx context.Context, id string) (any, error) {
				_, err := seen(ctx, id)
				return generated, err
			}, "given"},
		},
		gone:   func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

func TestFindSecret(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::SecretsManager::Secret"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "S", Type: "AWS::SecretsManager::Secret", Name: "shop/found",
		Token: strings.Repeat("ab", 16), Properties: object(t, `{"SecretString": "x"}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Find(t.Context(), r); id != made.PhysicalID || err != nil {
		t.Errorf("found %q, %v, want %q", id, err, made.PhysicalID)
	}
	r.Token = strings.Repeat("cd", 16)
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v, though another create made it", id, err)
	}
}

func TestSecretTemplateStaysOutOfErrors(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::SecretsManager::Secret"), nil)
	_, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "S", Type: "AWS::SecretsManager::Secret", Name: "shop/bad",
		Properties: object(t, `{"GenerateSecretString": {"SecretStringTemplate": "hunter2", "GenerateStringKey": "p"}}`)})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v, want one without the template's text", err)
	}
}
