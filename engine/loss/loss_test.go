package loss

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

func TestOf(t *testing.T) {
	changed := func(path string, old, new any) []plan.PropertyChange {
		return []plan.PropertyChange{{Path: path, Old: old, HasOld: old != nil, New: new, HasNew: new != nil}}
	}
	days, seconds := value.Int[int], value.Int[int]
	for name, c := range map[string]struct {
		change plan.Change
		want   []string
	}{
		"a table that goes":                   {plan.Change{Type: "AWS::DynamoDB::Table", Action: plan.Delete}, []string{"may hold data: delete"}},
		"a key without which nothing is read": {plan.Change{Type: "AWS::KMS::Key", Action: plan.Delete}, []string{"may hold data: delete"}},
		"a queue that is replaced":            {plan.Change{Type: "AWS::SQS::Queue", Action: plan.Replace}, []string{"may hold data: replace"}},
		"a queue whose old copy stays":        {plan.Change{Type: "AWS::SQS::Queue", Action: plan.Replace, UpdateReplacePolicy: "Retain"}, nil},
		"a queue that is kept":                {plan.Change{Type: "AWS::SQS::Queue", Action: plan.Retain}, nil},
		"a topic that goes":                   {plan.Change{Type: "AWS::SNS::Topic", Action: plan.Delete}, nil},
		"a new log group":                     {plan.Change{Type: "AWS::Logs::LogGroup", Action: plan.Create, Properties: changed("RetentionInDays", nil, days(1))}, nil},
		"a log group that kept everything":    {plan.Change{Type: "AWS::Logs::LogGroup", Action: plan.Update, Properties: changed("RetentionInDays", nil, days(30))}, []string{"RetentionInDays may keep data for a shorter time"}},
		"a log group that keeps longer":       {plan.Change{Type: "AWS::Logs::LogGroup", Action: plan.Update, Properties: changed("RetentionInDays", days(7), nil)}, nil},
		"messages for a minute":               {plan.Change{Type: "AWS::SQS::Queue", Action: plan.Update, Properties: changed("MessageRetentionPeriod", seconds(1209600), "60")}, []string{"MessageRetentionPeriod may keep data for a shorter time"}},
		"messages for longer than usual":      {plan.Change{Type: "AWS::SQS::Queue", Action: plan.Update, Properties: changed("MessageRetentionPeriod", nil, seconds(345601))}, nil},
		"a bucket that cleans itself":         {plan.Change{Type: "AWS::S3::Bucket", Action: plan.Update, Properties: changed("LifecycleConfiguration", nil, value.NewObject())}, []string{"LifecycleConfiguration may delete data by itself"}},
		"a bucket that does not any more":     {plan.Change{Type: "AWS::S3::Bucket", Action: plan.Update, Properties: changed("LifecycleConfiguration", value.NewObject(), nil)}, nil},
		"a bucket without versions":           {plan.Change{Type: "AWS::S3::Bucket", Action: plan.Update, Properties: changed("VersioningConfiguration", value.NewObject("Status", "Enabled"), value.NewObject("Status", "Suspended"))}, []string{"keeps no versions any more of what is overwritten"}},
		"a table without its policy":          {plan.Change{Type: "AWS::DynamoDB::Table", Action: plan.Update, Attributes: []plan.AttributeChange{{Name: "DeletionPolicy", Old: "Retain", New: "Delete"}}}, []string{"may hold data, and loses its DeletionPolicy Retain"}},
		"a table without its protection":      {plan.Change{Type: "AWS::DynamoDB::Table", Action: plan.Update, Properties: changed("DeletionProtectionEnabled", true, nil)}, []string{"may hold data, and loses its DeletionProtectionEnabled"}},
		"what a deploy will know":             {plan.Change{Type: "AWS::Kinesis::Stream", Action: plan.Update, Properties: []plan.PropertyChange{{Path: "RetentionPeriodHours", HasNew: true, New: value.NewObject("Ref", "P"), Unresolved: true}}}, []string{"RetentionPeriodHours may keep data for a shorter time"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range Of(&plan.Plan{Changes: []*plan.Change{&c.change}}) {
				got = append(got, l.Why)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
