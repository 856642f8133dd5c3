package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// compared is a resource as a look for drift finds it.
func compared(id, typ, recorded, read string) result.DriftedResource {
	row := &state.Resource{ResourceType: typ, Properties: parse(recorded).(*value.Object), Observed: parse(recorded).(*value.Object)}
	r := result.DriftedResource{LogicalID: id, Type: typ, PhysicalID: strings.ToLower(id), Drift: result.InSync, Observed: true,
		Comparison: drift.Compare(row, parse(read).(*value.Object))}
	if len(r.Differences) > 0 {
		r.Drift = result.DriftFound
	}
	return r
}

func driftRun() *result.DriftRun {
	run := &result.DriftRun{Duration: 1300 * time.Millisecond}
	run.Add(&result.DriftedStack{Name: "ShopOrders", Region: "eu-west-1", Outcome: result.Drifted, Resources: []result.DriftedResource{
		compared("Queue", "AWS::SQS::Queue", `{"VisibilityTimeout":30,"Tags":[{"Key":"team","Value":"shop"}]}`, `{"VisibilityTimeout":90,"Tags":[{"Key":"team","Value":"shop"},{"Key":"owner","Value":"bob"}]}`),
		compared("Handler", "AWS::Lambda::Function",
			`{"Timeout":3,"Environment":{"Variables":{"TABLE":"orders","DB":"{{resolve:secretsmanager:db}}"}}}`,
			`{"Timeout":3,"Environment":{"Variables":{"TABLE":"other","DB":"hunter2","API_TOKEN":"hunter3"}}}`),
		compared("Policy", "AWS::IAM::ManagedPolicy",
			`{"PolicyDocument":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}}`,
			`{"PolicyDocument":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":"*"},{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}}`),
		compared("Topic", "AWS::SNS::Topic", `{"TopicName":"t"}`, `{"TopicName":"t"}`),
		{LogicalID: "Uploads", Type: "AWS::S3::Bucket", PhysicalID: "shop-uploads", Drift: result.DriftDeleted},
		{LogicalID: "Seed", Type: "Custom::Seed", PhysicalID: "seed-1", Drift: result.DriftUnsupported, Reason: "Seed (Custom::Seed) cannot be read back: what it made is not known to AWS as one resource"},
	}})
	run.Add(&result.DriftedStack{Name: "ShopData", Region: "eu-west-1", Outcome: result.NoChange, Resources: []result.DriftedResource{
		compared("Table", "AWS::DynamoDB::Table", `{"BillingMode":"PAY_PER_REQUEST"}`, `{"BillingMode":"PAY_PER_REQUEST"}`),
	}})
	return run
}

// The report names each property with what was recorded and what is, and no
// value that may be a secret (S-317, S-155, G-8.6).
func TestDriftReport(t *testing.T) {
	run := driftRun()
	text := DriftText(run)
	json, err := DriftJSON(run)
	if err != nil {
		t.Fatal(err)
	}
	markdown, issue := DriftMarkdown(run), DriftIssue(run, run.Stacks[0], "https://github.com/acme/shop/actions/runs/7")
	golden(t, "drift.txt", text)
	golden(t, "drift.json", json)
	golden(t, "drift.md", markdown)
	golden(t, "drift-issue.md", issue)
	for _, sink := range []string{text, json, markdown, issue} {
		if strings.Contains(sink, "hunter") || strings.Contains(sink, "orders") {
			t.Errorf("a value of an environment comes out:\n%s", sink)
		}
	}
	if got := DriftIssue(run, run.Stacks[1], ""); got != "Stack `ShopData` in `eu-west-1` is as recorded again.\n" {
		t.Errorf("the last word is %q", got)
	}
}

// show-values reaches drift; what is known to be a secret stays hidden (G-8.3).
func TestDriftShowsValuesThatWereAskedFor(t *testing.T) {
	run := driftRun()
	run.ShowValues = []string{"Handler:Environment.Variables.TABLE", "AWS::Lambda::Function:Environment.Variables.DB"}
	json, err := DriftJSON(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []string{DriftText(run), json, DriftMarkdown(run), DriftIssue(run, run.Stacks[0], "")} {
		if !strings.Contains(sink, "orders") || !strings.Contains(sink, "other") {
			t.Errorf("the values that were asked for are hidden:\n%s", sink)
		}
		if strings.Contains(sink, "hunter") {
			t.Errorf("a value that nobody asked for, or a secret, comes out:\n%s", sink)
		}
	}
}

func TestDriftTitle(t *testing.T) {
	clean := result.DriftedResource{Drift: result.InSync}
	drifted := result.DriftedResource{Drift: result.DriftFound}
	settled := result.DriftedResource{Drift: result.DriftFound, Settled: true}
	refused := result.DriftedResource{Drift: result.DriftRefused}
	for _, tt := range []struct {
		want string
		run  result.DriftRun
		of   []result.DriftedResource
	}{
		{"No drift in stack S", result.DriftRun{Outcome: result.NoChange}, []result.DriftedResource{clean}},
		{"No drift was found in stack S, but not everything could be compared", result.DriftRun{Outcome: result.Partial}, []result.DriftedResource{clean, refused}},
		{"1 resource has drifted in stack S", result.DriftRun{Outcome: result.Drifted}, []result.DriftedResource{drifted, clean}},
		{"2 resources have drifted in stack S", result.DriftRun{Outcome: result.Drifted}, []result.DriftedResource{drifted, drifted}},
		{"The drift of 1 of 2 resources was reverted in stack S, and that of 1 was not", result.DriftRun{Outcome: result.Partial, Mode: result.DriftRevert}, []result.DriftedResource{drifted, settled}},
		{"The drift of 0 of 1 resource would be accepted in stack S, and that of 1 would not", result.DriftRun{Outcome: result.Partial, Mode: result.DriftAccept, DryRun: true}, []result.DriftedResource{drifted}},
		{"The drift of 1 of 1 resource would be accepted in stack S", result.DriftRun{Outcome: result.Success, Mode: result.DriftAccept, DryRun: true}, []result.DriftedResource{settled}},
		{"Stack S could not be compared", result.DriftRun{Outcome: result.Failed}, nil},
		{"Stack S could not be compared", result.DriftRun{Outcome: result.Locked, Mode: result.DriftRevert}, nil},
		{"Looking for drift failed", result.DriftRun{Outcome: result.Failed, Message: "m"}, nil},
		{"Looking for drift was cancelled", result.DriftRun{Outcome: result.Cancelled, Message: "m"}, nil},
	} {
		run := tt.run
		run.Stacks = []*result.DriftedStack{{Name: "S", Resources: tt.of}}
		if tt.of == nil {
			run.Stacks[0].Message = "denied"
		}
		if got := DriftTitle(&run); got != tt.want {
			t.Errorf("want %q, got %q", tt.want, got)
		}
	}
}

// everywhereDrifted has a text in every place that takes one.
func everywhereDrifted(text string) *result.DriftRun {
	run := &result.DriftRun{Mode: result.DriftRevert, Message: text, Remedy: text}
	r := result.DriftedResource{LogicalID: text, Type: text, PhysicalID: text, Reason: text, Left: text, Comparison: drift.Comparison{
		Differences: []drift.Difference{
			{Path: drift.Path{text, 0, text}, Expected: text, Actual: value.NewObject(text, []any{text})},
			{Path: drift.Path{text}, Expected: []any{text}}, {Path: drift.Path{text}, Actual: text}, {Path: drift.Path{text}, Hidden: true},
		},
		Gaps: []drift.Gap{{Path: drift.Path{text}, Why: drift.Secret}},
	}}
	s := &result.DriftedStack{Name: text, Region: text, Outcome: result.Drifted, Message: text, Remedy: text}
	for _, d := range []result.Drift{result.DriftFound, result.DriftDeleted, result.DriftUnsupported, result.DriftFailed} {
		r.Drift = d
		s.Resources = append(s.Resources, r)
	}
	run.Add(s)
	return run
}

func TestDriftFromOutsideIsNoMarkup(t *testing.T) {
	for _, text := range hostile {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			run := everywhereDrifted(text)
			section := NewDriftSection(run)
			for _, markdown := range []string{DriftMarkdown(run), DriftIssue(run, run.Stacks[0], ""), section.Title + "\n\n" + section.Body} {
				checkInert(t, markdown)
				for limit := 200; limit < 2000; limit += 177 {
					live(t, Fit(markdown, limit, "See there."))
				}
			}
			for line := range strings.Lines(DriftText(run) + DriftIssueTitle(run.Stacks[0])) {
				if strings.ContainsAny(line, "\x1b\x00\r") {
					t.Errorf("control characters: %q", line)
				}
			}
		})
	}
	const secret = "AKIAIOSFODNN7EXAMPLE"
	run := everywhereDrifted("before " + secret + " after")
	json, err := DriftJSON(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []string{json, DriftText(run), DriftMarkdown(run), DriftIssue(run, run.Stacks[0], ""), DriftIssueTitle(run.Stacks[0]), NewDriftSection(run).Title} {
		if strings.Contains(sink, secret) {
			t.Errorf("a credential comes out:\n%s", sink)
		}
	}
}
