package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// A stack of one resource that was deployed before, whose output reads an
// attribute that the record lacks, and what AWS says when it is asked.
type late struct {
	aws    *sandbox.Sandbox
	dir    string
	mu     sync.Mutex
	answer func() (status int, contentType, body string) // to the read of the resource
	asked  int
}

const lateKey = "cdkd/Late/us-east-1/state.json"

// startLate makes such a stack. outputs is what is recorded of its outputs.
func startLate(t *testing.T, typ, id, properties, attribute, outputs string) *late {
	t.Helper()
	s, err := startSandbox(t, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.S3.AddBucket(bucket, "us-east-1", "")
	l := &late{aws: s, dir: t.TempDir()}
	l.write(t, "manifest.json", `{"version": "48.0.0", "artifacts": {"Late": {"type": "aws:cloudformation:stack",
		"environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "Late.template.json"}}}}`)
	l.write(t, "Late.template.json", fmt.Sprintf(`{
		"Resources": {"R": {"Type": %q, "Properties": %s}},
		"Outputs": {
			"Out": {"Value": {"Fn::GetAtt": ["R", %q]}, "Export": {"Name": {"Fn::Sub": "late-out"}}},
			"Fixed": {"Value": "new"}
		}}`, typ, properties, attribute))
	r := state.NewRecord("Late", "us-east-1")
	r.Set("R", &state.Resource{ResourceType: typ, PhysicalID: id, Properties: object(t, properties)})
	r.Outputs = object(t, outputs)
	if r.Outputs.Has("late-out") {
		r.ExportNames = []string{"late-out"}
	}
	b, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s.S3.PutObject(bucket, lateKey, b)
	return l
}

func (l *late) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Do answers reads of the resource, and sends all else to the sandbox.
func (l *late) Do(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil && r.Method == http.MethodPost {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(b)
		r.Body = io.NopCloser(strings.NewReader(body))
	}
	if !strings.Contains(body, "Action=DescribeInstances") && !strings.Contains(body, "Action=DescribeDBInstances") && !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetResource") {
		return http.DefaultClient.Do(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	status, contentType, text := l.answer()
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// deploy deploys the stack as it is, and returns what is then recorded.
func (l *late) deploy(t *testing.T, strict bool) (*result.Stack, *state.Record) {
	t.Helper()
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	defer window.Close()
	cfg := l.aws.Config()
	cfg.HTTPClient = l
	cfg.RetryMaxAttempts = 1
	run, err := engine.New(engine.Config{
		AWS: cfg, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix,
		Owner: "me@test-" + t.Name(), Version: "test", Window: window,
	}).Deploy(t.Context(), engine.DeployOptions{
		Selection:    engine.Selection{Assembly: l.dir, Selection: assembly.Selection{All: true}},
		StrictGetAtt: strict, ResourceTimeout: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	o, ok := l.aws.S3.Object(bucket, lateKey)
	if !ok {
		t.Fatal("there is no record")
	}
	record, err := state.ParseRecord(lateKey, o.Body)
	if err != nil {
		t.Fatal(err)
	}
	return run.Stacks[0], record
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// instance is what DescribeInstances says of i-1.
func instance(state, members string) func() (int, string, string) {
	return func() (int, string, string) {
		return http.StatusOK, "text/xml", `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet><item>` +
			`<instanceId>i-1</instanceId><instanceState><name>` + state + `</name></instanceState>` + members +
			`</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
	}
}

func denied() (int, string, string) {
	return http.StatusForbidden, "text/xml", `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>encoded at great length</Message></Error></Errors></Response>`
}

// An instance that has no address yet gets none made up: the output is left out
// with a warning and comes with a later deploy, also one without changes (T-259a, T-1105,
// T-259f).
func TestAddressOfAnInstance(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func() (int, string, string)
		strict  bool
		want    any    // the output; nil: left out
		learned any    // the recorded attribute
		says    string // a warning, or the message of a failure
	}{
		{name: "pending", answer: instance("pending", ""), says: "output Out is left out: Outputs.Out.Value.Fn::GetAtt: R.PublicIp: R (AWS::EC2::Instance) has no attribute PublicIp"},
		{name: "pending, strictly", answer: instance("pending", ""), strict: true, says: "R (AWS::EC2::Instance) has no attribute PublicIp"},
		{name: "running, without a public address", answer: instance("running", ""), want: ""},
		{name: "running, with one", answer: instance("running", "<ipAddress>192.0.2.7</ipAddress>"), want: "192.0.2.7", learned: "192.0.2.7"},
		{name: "it cannot be asked", answer: denied, says: "reading it failed: UnauthorizedOperation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := startLate(t, "AWS::EC2::Instance", "i-1", `{"ImageId": "ami-1"}`, "PublicIp", `{"Fixed": "old"}`)
			l.answer = c.answer
			stack, record := l.deploy(t, c.strict)
			says := strings.Join(append(stack.Warnings, stack.Message), "\n")
			if !strings.Contains(says, c.says) || strings.Contains(says, "great length") || strings.Contains(says, "i-1") {
				t.Errorf("want %q, got %q", c.says, says)
			}
			if failed := stack.Outcome == result.Failed; failed != c.strict {
				t.Errorf("outcome %s", stack.Outcome)
			}
			if got, has := record.Outputs.Get("Out"); got != c.want || has != (c.want != nil) {
				t.Errorf("the output is %v, want %v", got, c.want)
			}
			if got := record.Row("R").Attributes.Value("PublicIp"); got != c.learned {
				t.Errorf("the recorded attribute is %v, want %v", got, c.learned)
			}
			if c.strict {
				return
			}
			if got := record.Outputs.Value("Fixed"); got != "new" {
				t.Errorf("the other output is %v", got)
			}
			// By and by it has one.
			l.answer = instance("running", "<ipAddress>192.0.2.8</ipAddress>")
			_, record = l.deploy(t, false)
			want := "192.0.2.8"
			if c.learned != nil {
				want = "192.0.2.7" // recorded, and not asked for again
			}
			if got := record.Outputs.Value("Out"); got != want {
				t.Errorf("after the next deploy the output is %v, want %s", got, want)
			}
		})
	}
}

// The endpoint of a database that is not up yet is its identifier until it is
// there, with a warning, and only without strict-getatt (T-259b).
func TestEndpointOfADatabase(t *testing.T) {
	described := func(endpoint string) func() (int, string, string) {
		return func() (int, string, string) {
			return http.StatusOK, "text/xml", "<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances><DBInstance>" + endpoint +
				"</DBInstance></DBInstances></DescribeDBInstancesResult></DescribeDBInstancesResponse>"
		}
	}
	for _, typ := range []string{"AWS::RDS::DBInstance", "AWS::DocDB::DBInstance", "AWS::Neptune::DBInstance"} {
		t.Run(typ, func(t *testing.T) {
			l := startLate(t, typ, "db-1", `{"DBInstanceClass": "db.t3.micro"}`, "Endpoint.Address", `{"Fixed": "new"}`)
			l.answer = described("")
			stack, record := l.deploy(t, true)
			if stack.Outcome != result.Failed || record.Outputs.Has("Out") {
				t.Errorf("strictly: outcome %s, output %v", stack.Outcome, record.Outputs.Value("Out"))
			}
			stack, record = l.deploy(t, false)
			if got := record.Outputs.Value("Out"); got != "db-1" {
				t.Errorf("without an endpoint the output is %v, want the identifier", got)
			}
			if says := strings.Join(stack.Warnings, "\n"); !strings.Contains(says, "attribute Endpoint.Address of R ("+typ+") is not there yet; its identifier db-1 stands in for it") {
				t.Errorf("warnings: %s", says)
			}
			if record.Row("R").Attributes.Has("Endpoint.Address") {
				t.Error("the identifier is recorded as if it was the endpoint")
			}
			l.answer = described("<Endpoint><Address>db-1.abc.example</Address><Port>5432</Port></Endpoint>")
			stack, record = l.deploy(t, false)
			if got := record.Outputs.Value("Out"); got != "db-1.abc.example" || len(stack.Warnings) > 0 {
				t.Errorf("with an endpoint the output is %v, warnings %v", got, stack.Warnings)
			}
			if got := record.Row("R").Attributes.Value("Endpoint.Address"); got != "db-1.abc.example" {
				t.Errorf("the recorded attribute is %v", got)
			}
			asked := l.asked
			if stack, _ = l.deploy(t, false); stack.Outcome != result.NoChange || l.asked != asked {
				t.Errorf("once recorded it is asked for again: outcome %s, %d reads", stack.Outcome, l.asked-asked)
			}
		})
	}
}

// A deploy without changes resolves outputs again. One that it cannot resolve
// keeps what is recorded of it, its export name too, and is named; the others
// are saved (T-306).
func TestNoChangeKeepsWhatItCannotResolve(t *testing.T) {
	l := startLate(t, "AWS::EC2::Instance", "i-1", `{"ImageId": "ami-1"}`, "PublicIp", `{"Out": "192.0.2.1", "late-out": "192.0.2.1", "Fixed": "old", "Gone": "x"}`)
	l.answer = denied
	stack, record := l.deploy(t, false)
	if want := `{"Out":"192.0.2.1","Fixed":"new","late-out":"192.0.2.1"}`; value.JSON(record.Outputs) != want {
		t.Errorf("outputs %s, want %s", value.JSON(record.Outputs), want)
	}
	if exports := strings.Join(record.ExportNames, ","); exports != "late-out" {
		t.Errorf("exports %s", exports)
	}
	if says := strings.Join(stack.Warnings, "\n"); !strings.Contains(says, "output Out keeps its stored value") || strings.Contains(says, "Fixed") {
		t.Errorf("warnings: %s", says)
	}
	for _, r := range l.aws.Log() {
		if r.Service == "ec2" || r.Service == "cloudcontrolapi" {
			t.Errorf("%s:%s in a deploy without changes", r.Service, r.Action)
		}
	}
}

// An output that cannot be resolved, where that is not accepted, fails a deploy
// whose resources were all made: these stay, the outputs are those from before,
// and nothing is rolled back but by a person (S-80, T-301).
func TestOutputsFailAfterTheResources(t *testing.T) {
	l := startLate(t, "AWS::EC2::Instance", "i-1", `{"ImageId": "ami-1"}`, "PublicIp", `{"Fixed": "old"}`)
	l.write(t, "Late.template.json", `{
		"Resources": {"R": {"Type": "AWS::EC2::Instance", "Properties": {"ImageId": "ami-1"}},
			"N": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/n", "Value": "v"}}},
		"Outputs": {"Out": {"Value": {"Fn::GetAtt": ["R", "PublicIp"]}}, "Fixed": {"Value": "new"}}}`)
	l.answer = denied
	stack, record := l.deploy(t, true)
	if stack.Outcome != result.Failed || record.Row("N") == nil {
		t.Errorf("outcome %s, %d rows", stack.Outcome, len(record.Resources))
	}
	if want := `{"Fixed":"old"}`; value.JSON(record.Outputs) != want {
		t.Errorf("outputs %s, want %s", value.JSON(record.Outputs), want)
	}
	key := "cdkd/Late/us-east-1/rollback-journal.json"
	o, _ := l.aws.S3.Object(bucket, key)
	journal, err := state.ParseJournal(key, o.Body)
	if err != nil {
		t.Fatal(err)
	}
	g := journal.Segments[0]
	if g.Reason != state.NoRollback || len(g.Operations) != 1 || g.Operations[0].LogicalID != "N" {
		t.Errorf("journal:\n%s", o.Body)
	}
	for _, r := range l.aws.Log() {
		if r.Action == "DeleteParameter" {
			t.Error("it was rolled back")
		}
	}
}

var _ aws.HTTPClient = (*late)(nil)
