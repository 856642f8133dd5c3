package engine_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
)

// A change of a resource that was deleted by hand says at once that it is gone,
// and what to do; that is not tried again, as it would be for one made just now
// (T-905, T-909). Done as it says, the next deploy makes it again.
func TestChangeOfWhatIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		resource, old, new string
		remove             func(*testing.T, aws.Config) error
		call               string
	}{
		"a log group": {`"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "g", "RetentionInDays": 1}`, `Days": 1`, `Days": 3`,
			func(t *testing.T, c aws.Config) error {
				_, err := cloudwatchlogs.NewFromConfig(c).DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: new("g")})
				return err
			}, "PutRetentionPolicy"},
		"a queue": {`"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "DelaySeconds": 1}`, `Seconds": 1`, `Seconds": 2`,
			func(t *testing.T, c aws.Config) error {
				out, err := sqs.NewFromConfig(c).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: new("q")})
				if err != nil {
					return err
				}
				_, err = sqs.NewFromConfig(c).DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
				return err
			}, "SetQueueAttributes"},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"R": {` + tt.resource + `}`})
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
				t.Fatalf("%v %+v", err, run.Stacks[0])
			}
			if err := tt.remove(t, cloud.Config()); err != nil {
				t.Fatal(err)
			}
			writeApp(t, dir, map[string]string{"Shop": `"R": {` + strings.Replace(tt.resource, tt.old, tt.new, 1) + `}`})
			cloud.ClearLog()
			run, err := e.Deploy(t.Context(), deployAll(dir))
			if err != nil || run.Outcome != result.Failed || len(run.Stacks[0].Failures) != 1 {
				t.Fatalf("%v %+v", err, run.Stacks[0])
			}
			calls := 0
			for _, r := range cloud.Log() {
				if r.Action == tt.call {
					calls++
				}
			}
			f := run.Stacks[0].Failures[0]
			if calls != 1 || !strings.Contains(f.Message, "is gone in AWS: it was deleted outside of this tool") || !strings.Contains(f.Remedy, "cdkd-action state orphan Shop --resource R --yes") {
				t.Errorf("%d calls; %s; %s", calls, f.Message, f.Remedy)
			}
			if _, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Resources: []string{"R"}}); err != nil {
				t.Fatal(err)
			}
			if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success || run.Stacks[0].Counts.Created != 1 {
				t.Errorf("as it says: %v %+v", err, run.Stacks[0])
			}
		})
	}
}
