package awssdk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestTable(t *testing.T) {
	s := emulated(t)
	c := dynamodb.NewFromConfig(s.Config)
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		tb := out.Table
		var parts []string
		if tb.BillingModeSummary != nil {
			parts = append(parts, string(tb.BillingModeSummary.BillingMode))
		}
		for _, i := range tb.GlobalSecondaryIndexes {
			parts = append(parts, "index "+*i.IndexName)
		}
		if st := tb.StreamSpecification; st != nil && aws.ToBool(st.StreamEnabled) {
			parts = append(parts, "stream "+string(st.StreamViewType))
		}
		if aws.ToBool(tb.DeletionProtectionEnabled) {
			parts = append(parts, "protected")
		}
		ttl, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		if ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
			parts = append(parts, "ttl "+*ttl.TimeToLiveDescription.AttributeName)
		}
		pitr, err := c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		if pitr.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled {
			parts = append(parts, "pitr")
		}
		tags, err := c.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: tb.TableArn})
		if err != nil {
			return nil, err
		}
		for _, tag := range tags.Tags {
			if *tag.Key != provider.OwnerTagKey {
				parts = append(parts, *tag.Key+"="+*tag.Value)
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, ", "), nil
	}
	keys := `"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]`
	index := func(name, projection string) string {
		return fmt.Sprintf(`{"IndexName": %q, "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": %q}}`, name, projection)
	}
	life{
		typ: "AWS::DynamoDB::Table", physical: "Shop-Table", id: "Shop-Table",
		attributes: map[string]string{"Arn": "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop-Table"},
		steps: []step{
			{"create", `{` + keys + `, "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [` + index("one", "ALL") + `],
				"StreamSpecification": {"StreamViewType": "NEW_IMAGE"}, "TimeToLiveSpecification": {"AttributeName": "exp", "Enabled": true},
				"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}, "DeletionProtectionEnabled": true,
				"SSESpecification": {"SSEEnabled": true}, "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				"PAY_PER_REQUEST, a=1, index one, pitr, protected, stream NEW_IMAGE, ttl exp"},
			{"several kinds of change at once", `{` + keys + `, "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [` + index("two", "ALL") + `, ` + index("three", "KEYS_ONLY") + `],
				"StreamSpecification": {"StreamViewType": "NEW_IMAGE"}, "TimeToLiveSpecification": {"AttributeName": "other", "Enabled": true},
				"SSESpecification": {"SSEEnabled": true}, "Tags": [{"Key": "b", "Value": "2"}]}`, seen,
				"PAY_PER_REQUEST, b=2, index three, index two, stream NEW_IMAGE, ttl other"},
			{"remove", `{` + keys + `, "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}`, seen, "PROVISIONED"},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
			return err
		},
		noRead: true,
	}.run(t, s)
}

// A create's own tag tells its table from another's of the name (S-213).
func TestFindTable(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::DynamoDB::Table"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "T", Type: "AWS::DynamoDB::Table", Name: "Shop-Found", OwnerTag: "mine",
		Properties: object(t, `{"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}`)}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v before the create", id, err)
	}
	if _, err := d.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if id, err := d.Find(t.Context(), r); id != "Shop-Found" || err != nil {
		t.Errorf("found %q, %v, want what the create made", id, err)
	}
	r.OwnerTag = "another create's"
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v, though another create made it", id, err)
	}
}

// The order of the calls, which an emulator that is never busy does not check.
func TestTableSteps(t *testing.T) {
	keys := `"AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}]`
	index := func(name, projection, extra string) string {
		return `{"IndexName": "` + name + `", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "` + projection + `"}` + extra + `}`
	}
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"one index a call, deletions first": {
			`{` + keys + `, "GlobalSecondaryIndexes": [` + index("a", "ALL", "") + `,` + index("b", "ALL", "") + `]}`,
			`{` + keys + `, "GlobalSecondaryIndexes": [` + index("c", "ALL", "") + `,` + index("d", "ALL", "") + `]}`,
			[]string{"delete a", "delete b", "create c", "create d"}},
		"an index that holds something else is made anew": {
			`{` + keys + `, "GlobalSecondaryIndexes": [` + index("a", "ALL", "") + `]}`,
			`{` + keys + `, "GlobalSecondaryIndexes": [` + index("a", "KEYS_ONLY", "") + `]}`,
			[]string{"delete a", "create a"}},
		"provisioned billing comes with the indexes' capacity": {
			`{` + keys + `, "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [` + index("a", "ALL", "") + `]}`,
			`{` + keys + `, "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}, "GlobalSecondaryIndexes": [` +
				index("a", "ALL", `, "ProvisionedThroughput": {"ReadCapacityUnits": 2, "WriteCapacityUnits": 2}`) + `]}`,
			[]string{"billing PROVISIONED 1 update a"}},
		"another stream view is another stream": {
			`{"StreamSpecification": {"StreamViewType": "NEW_IMAGE"}}`, `{"StreamSpecification": {"StreamViewType": "OLD_IMAGE"}}`,
			[]string{"stream false", "stream true OLD_IMAGE"}},
		"encryption, class and protection have a call each": {
			`{"SSESpecification": {"SSEEnabled": true}, "DeletionProtectionEnabled": true}`, `{"TableClass": "STANDARD_INFREQUENT_ACCESS"}`,
			[]string{"sse false", "class STANDARD_INFREQUENT_ACCESS", "protection false"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &provider.Request{PhysicalID: "t", Previous: object(t, test.old), Properties: object(t, test.new)}
			steps, err := tableSteps(r, provider.Compare(r.Previous, r.Properties))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, in := range steps {
				got = append(got, stepSeen(in))
			}
			slices.Sort(got[:countPrefix(got, "delete")]) // deletions in any order
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func countPrefix(list []string, prefix string) (n int) {
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func stepSeen(in *dynamodb.UpdateTableInput) string {
	var b []string
	if in.BillingMode != "" {
		b = append(b, "billing "+string(in.BillingMode))
	}
	if p := in.ProvisionedThroughput; p != nil {
		b = append(b, fmt.Sprint(*p.ReadCapacityUnits))
	}
	for _, u := range in.GlobalSecondaryIndexUpdates {
		switch {
		case u.Delete != nil:
			b = append(b, "delete "+*u.Delete.IndexName)
		case u.Create != nil:
			b = append(b, "create "+*u.Create.IndexName)
		default:
			b = append(b, "update "+*u.Update.IndexName)
		}
	}
	if st := in.StreamSpecification; st != nil {
		b = append(b, strings.TrimSpace(fmt.Sprint("stream ", *st.StreamEnabled, " ", st.StreamViewType)))
	}
	if e := in.SSESpecification; e != nil {
		b = append(b, fmt.Sprint("sse ", *e.Enabled))
	}
	if in.TableClass != "" {
		b = append(b, "class "+string(in.TableClass))
	}
	if p := in.DeletionProtectionEnabled; p != nil {
		b = append(b, fmt.Sprint("protection ", *p))
	}
	return strings.Join(b, " ")
}
