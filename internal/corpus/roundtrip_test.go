package corpus

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/internal/sandbox"
	formed "github.com/org/cdkd-action/internal/sandbox/cloudformation"
)

// roundTrips are the assemblies all of whose resources moto's CloudFormation
// makes, with an id, so that they can be taken over from it.
var roundTrips = []string{
	"cdk-aws-iam-managed-policy",
	"cdk-aws-kinesis-stream",
	"cdk-aws-lambda-event-sources-kinesiswithdlq",
	"cdk-aws-lambda-event-sources-sqs-max-concurrency",
	"cdk-aws-lambda-event-sources-sqs-with-filter-criteria",
	"cdk-aws-lambda-logging-config",
	"cdk-aws-ssm-import-parameter",
	"cdk-aws-stepfunctions-state-machine",
	"sp-sfn-sns-cdk-src",
	"sp-sqs-lambda-dynamodb-message-aggregator-cdk-src",
}

// sampled are the ones that are taken along without -update and without the whole
// corpus: all ten take a minute or two.
var sampled = []string{"cdk-aws-iam-managed-policy", "cdk-aws-lambda-event-sources-kinesiswithdlq", "cdk-aws-ssm-import-parameter", "sp-sfn-sns-cdk-src"}

// A round is what became of one assembly on the way from CloudFormation and back.
type round struct {
	stacks, resources int
	taken, reverted   int // taken over; changed by somebody, found and put back
	imported, anew    int // by CloudFormation in the end
}

func (r round) line(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", name, r.stacks, r.resources, r.taken, r.reverted, r.imported, r.anew)
}

// Apps that CloudFormation deployed are taken over without a resource being touched,
// which leaves nothing to deploy; what somebody changes is found, and nothing else,
// and put back; and CloudFormation takes them back as they are (S-315, S-316, S-317).
func TestRoundTrip(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed: there is no CloudFormation that makes resources")
	}
	names := sampled
	if _, whole := corpusDir(); whole || *update {
		names = roundTrips
	}
	lab := startLab(t)
	var all round
	lines := []string{"| assembly | stacks | resources | taken over | changed, found and put back | imported by CloudFormation | made anew by it |", "| --- | ---:| ---:| ---:| ---:| ---:| ---:|"}
	want, err := os.ReadFile(roundTripped)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, e := range index(t, committed) {
		if !slices.Contains(names, e.Name) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			r := lab.roundTrip(t, e)
			all = round{all.stacks + r.stacks, all.resources + r.resources, all.taken + r.taken, all.reverted + r.reverted, all.imported + r.imported, all.anew + r.anew}
			line := r.line(e.Name)
			lines = append(lines, line)
			t.Log(line)
			if !*update && !slices.Contains(strings.Split(string(want), "\n"), line) {
				t.Errorf("%s says something else; write it with -run TestRoundTrip -update, and docs/corpus.md with -run TestDocs -update", roundTripped)
			}
		})
	}
	if *update && !t.Failed() && all.stacks >= len(roundTrips) {
		text := strings.Join(append(lines, all.line("all")), "\n") + "\n"
		if err := os.WriteFile(roundTripped, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// roundTripped has what was counted when it was last written.
var roundTripped = filepath.Join("testdata", "roundtrips.md")

func (l *lab) roundTrip(t *testing.T, e entry) (r round) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l.clean(t, ctx)
	dir := prepare(t, l.s, e.dir)
	a, err := assembly.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := given(a.Stacks)
	putParameters(t, l.s, a.Stacks, values, true)
	if _, err := newEngine(t, l.s, nil).PublishAssets(ctx, engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}); err != nil {
		t.Fatal(err)
	}
	stacks := slices.DeleteFunc(a.Stacks, func(s *assembly.Stack) bool { return resources(s) == 0 })
	for _, s := range stacks {
		l.form(t, ctx, s, values)
		r.stacks++
		r.resources += resources(s)
	}

	l.s.ClearLog()
	for _, s := range stacks {
		opt := engine.ImportOptions{Selection: only(dir, s), Parameters: values, FromCloudFormation: true, DryRun: true}
		i, err := newEngine(t, l.s, nil).Import(ctx, opt)
		if err != nil || i.Saved || i.Count(engine.ImportDone) != resources(s) {
			t.Fatalf("rehearsal of taking over %s: %v: %+v", s.Name, err, i)
		}
		opt.DryRun = false
		i, err = newEngine(t, l.s, nil).Import(ctx, opt)
		if err != nil || !i.Retired || i.Count(engine.ImportDone) != resources(s) {
			t.Fatalf("take over %s: %v: %+v", s.Name, err, i)
		}
		if k, ok := l.s.CloudFormation.Stack(regionOf(s), s.Name); ok {
			t.Errorf("CloudFormation still has %s, %s", s.Name, k.Status)
		}
		r.taken += i.Count(engine.ImportDone)
	}
	l.untouched(t, "taking over")

	deployed := func() {
		t.Helper()
		l.s.ClearLog()
		run, err := newEngine(t, l.s, nil).Deploy(ctx, engine.DeployOptions{Selection: only(dir, stacks...), Parameters: values})
		if fault := unlike(run, err, result.NoChange); fault != "" {
			t.Errorf("deploy: %s", fault)
		}
		l.untouched(t, "a deploy of what was there")
	}
	deployed()
	l.drifted(t, ctx, result.DriftDetect, nil)

	want := map[string][]string{}
	for _, made := range recorded(t, ctx, newEngine(t, l.s, nil)) {
		if c, ok := changes[made.row.ResourceType]; ok {
			config := l.s.Config()
			config.Region = made.region
			if err := c.do(ctx, config, made.id()); err != nil {
				t.Fatalf("change %s: %v", made, err)
			}
			want[made.stack+" "+made.logicalID] = []string{c.property}
		}
	}
	l.drifted(t, ctx, result.DriftDetect, want)
	l.drifted(t, ctx, result.DriftRevert, want)
	l.drifted(t, ctx, result.DriftDetect, nil)
	r.reverted = len(want)
	deployed()

	l.s.ClearLog()
	for _, s := range stacks {
		opt := engine.ExportOptions{Selection: only(dir, s), Parameters: values, IncludeNonImportable: true, DryRun: true}
		x, err := newEngine(t, l.s, nil).Export(ctx, opt)
		if err != nil || x.Done {
			t.Fatalf("rehearsal of an export of %s: %v: %+v", s.Name, err, x)
		}
		opt.DryRun = false
		x, err = newEngine(t, l.s, nil).Export(ctx, opt)
		if err != nil || !x.Done {
			t.Fatalf("export %s: %v", s.Name, err)
		}
		k, _ := l.s.CloudFormation.Stack(regionOf(s), s.Name)
		for _, res := range x.Resources {
			if !slices.ContainsFunc(k.Resources, func(r formed.Resource) bool { return r.LogicalID == res.LogicalID }) {
				t.Errorf("CloudFormation does not have %s of %s", res.LogicalID, s.Name)
			}
		}
		r.imported += x.Count(engine.ExportImported)
		r.anew += x.Count(engine.ExportCreated)
	}
	l.untouched(t, "the export")
	if refs, err := newEngine(t, l.s, nil).StateList(ctx); err != nil || len(refs) > 0 {
		t.Errorf("still recorded: %v, %v", refs, err)
	}
	return r
}

// resources counts those that are in AWS.
func resources(s *assembly.Stack) (n int) {
	for _, r := range s.Template.Resources {
		if r.Type != template.MetadataType {
			n++
		}
	}
	return n
}

func regionOf(s *assembly.Stack) string { return cmp.Or(s.Region, "us-east-1") }

func only(dir string, stacks ...*assembly.Stack) engine.Selection {
	s := engine.Selection{Assembly: dir}
	for _, k := range stacks {
		s.Patterns = append(s.Patterns, k.Name)
	}
	return s
}

// form has CloudFormation make a stack.
func (l *lab) form(t *testing.T, ctx context.Context, s *assembly.Stack, values map[string]string) {
	t.Helper()
	config := l.s.Config()
	config.Region, config.RetryMaxAttempts = regionOf(s), 1
	text, err := os.ReadFile(s.TemplateFile)
	if err != nil {
		t.Fatal(err)
	}
	in := &cloudformation.CreateStackInput{StackName: &s.Name, TemplateBody: new(string(text)), Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam}}
	for _, p := range s.Template.Parameters {
		if v, ok := values[s.Name+":"+p.Name]; ok {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &p.Name, ParameterValue: &v})
		}
		if p.Name == "BootstrapVersion" {
			if _, err := ssm.NewFromConfig(config).PutParameter(ctx, &ssm.PutParameterInput{Name: new(p.Default.(string)), Value: new("30"), Type: ssmtypes.ParameterTypeString, Overwrite: new(true)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := cloudformation.NewFromConfig(config).CreateStack(ctx, in); err != nil {
		t.Fatalf("CloudFormation: create %s: %v", s.Name, err)
	}
}

// untouched fails when one of the requests so far changed a resource.
func (l *lab) untouched(t *testing.T, what string) {
	t.Helper()
	for _, r := range l.s.Log() {
		own := r.Service == "cloudformation" || r.Service == "s3" && strings.HasPrefix(r.Resource, bucket+"/")
		if mutates(r) && !own {
			t.Errorf("%s sent %s:%s %s", what, r.Service, r.Action, r.Resource)
		}
	}
}

// drifted looks for drift, or puts it back, and fails unless what is found is what
// is wanted: properties by stack and logical id.
func (l *lab) drifted(t *testing.T, ctx context.Context, mode result.DriftMode, want map[string][]string) {
	t.Helper()
	run := newEngine(t, l.s, nil).Drift(ctx, engine.DriftOptions{Recorded: engine.RecordSelection{All: true}, Mode: mode})
	if run.Message != "" {
		t.Errorf("drift: %s", run.Message)
	}
	got := map[string][]string{}
	for _, s := range run.Stacks {
		for _, r := range s.Resources {
			switch {
			case r.Drift == result.DriftFound:
				got[s.Name+" "+r.LogicalID] = r.Properties()
			case r.Drift != result.InSync:
				t.Errorf("drift: %s %s (%s): %s %s", s.Name, r.LogicalID, r.Type, r.Drift, r.Reason)
			}
			if r.Left != "" {
				t.Errorf("drift: %s %s (%s) was left: %s", s.Name, r.LogicalID, r.Type, r.Left)
			}
		}
	}
	if want == nil {
		want = map[string][]string{}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
}
