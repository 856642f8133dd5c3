package awssdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var addPermissionInput = provider.Bind[lambda.AddPermissionInput](
	provider.Finish(func(r *provider.Request, in *lambda.AddPermissionInput) error {
		in.StatementId = aws.String(statementID(r))
		return nil
	}))

var notInStatementID = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// statementID names the statement by stack, logical id and content: another
// stack's permission on the same function does not collide with it, nor does
// the statement that a changed one replaces, and a create that is sent twice
// does.
func statementID(r *provider.Request) string {
	const longest = 100
	content := r.Properties.Clone()
	content.Delete("EventSourceToken") // may be a secret
	sum := sha256.Sum256([]byte(r.Stack.Name + "\x00" + r.LogicalID + "\x00" + value.JSON(content)))
	hash := hex.EncodeToString(sum[:4])
	name := notInStatementID.ReplaceAllString(r.Stack.Name+"-"+r.LogicalID, "-")
	return name[:min(len(name), longest-1-len(hash))] + "-" + hash
}

// A permission is one statement of a function's policy. Its physical id is the
// statement's id; records made through Cloud Control have the function and a
// bar before it.
func permission() provider.Resource {
	return provider.Resource{
		Type:     "AWS::Lambda::Permission",
		GoesWith: []string{"FunctionName"},
		Inputs:   []provider.Input{addPermissionInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			_, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).AddPermission, addPermissionInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: statementID(r)}, nil
		},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			s, err := statementOf(ctx, r, statementID(r))
			if s == nil || err != nil {
				return "", err
			}
			return statementID(r), nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := lambdaClient(r.Session).RemovePermission(ctx, &lambda.RemovePermissionInput{
				FunctionName: aws.String(text(r.Properties, "FunctionName")), StatementId: aws.String(lastSegment(r.PhysicalID, "|")),
			})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", lastSegment(r.PhysicalID, "|"))
		},
		Read: readPermission,
		Identifier: func(r *provider.Request) string {
			if strings.Contains(r.PhysicalID, "|") {
				return r.PhysicalID
			}
			return text(r.Properties, "FunctionName") + "|" + r.PhysicalID
		},
	}
}

// statementOf reads one statement of the function's policy, nil when it is not
// there.
func statementOf(ctx context.Context, r *provider.Request, id string) (*value.Object, error) {
	out, err := lambdaClient(r.Session).GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String(text(r.Properties, "FunctionName"))})
	if provider.HasCode(err, lambdaGone...) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	policy, err := value.ParseObject([]byte(aws.ToString(out.Policy)))
	if err != nil {
		return nil, err
	}
	for _, v := range policy.List("Statement") {
		if s, ok := v.(*value.Object); ok && s.String("Sid") == id {
			return s, nil
		}
	}
	return nil, nil
}

func readPermission(ctx context.Context, r *provider.Request) (*value.Object, error) {
	s, err := statementOf(ctx, r, lastSegment(r.PhysicalID, "|"))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, provider.ErrNotFound
	}
	props := value.NewObject("FunctionName", r.Properties.Value("FunctionName"), "Action", s.Value("Action"))
	switch p := s.Value("Principal").(type) {
	case string:
		props.Set("Principal", p)
	case *value.Object: // by kind: {"Service": …}, {"AWS": …}
		_, who, _ := p.Sole()
		if account, ok := who.(string); ok && strings.HasSuffix(account, ":root") && text(r.Properties, "Principal") == strings.Split(account, ":")[4] {
			who = r.Properties.Value("Principal") // an account is written as its root
		}
		props.Set("Principal", who)
	}
	conditions := map[string]string{
		"aws:sourcearn": "SourceArn", "aws:sourceaccount": "SourceAccount", "aws:principalorgid": "PrincipalOrgID",
		"lambda:eventsourcetoken": "EventSourceToken", "lambda:functionurlauthtype": "FunctionUrlAuthType",
	}
	for _, tests := range s.Object("Condition").All() {
		o, _ := tests.(*value.Object)
		for key, v := range o.All() {
			key = strings.ToLower(key)
			if property, ok := conditions[key]; ok {
				props.Set(property, v)
			} else if key == "lambda:invokedviafunctionurl" {
				on, _ := value.Text(v)
				props.Set("InvokedViaFunctionUrl", on == "true")
			}
		}
	}
	return props, nil
}
