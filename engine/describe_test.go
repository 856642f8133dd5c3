package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/internal/sandbox"
)

// registry has types that are in no embedded schema: a younger one of AWS, one that
// the account has of somebody else, and one that cannot be managed.
func registry(name string) (*schema.Type, bool) {
	text := &schema.Property{Type: "string"}
	t := &schema.Type{
		Name: name, Properties: map[string]*schema.Property{"Name": text, "Size": text, "Arn": text},
		PrimaryIdentifier: []string{"Name"}, CreateOnly: []string{"Name"}, ReadOnly: []string{"Arn"}, Provisionable: true,
	}
	switch name {
	case "AWS::Younger::Thing", "Acme::Shop::Thing":
		return t, true
	case "AWS::Younger::Frozen":
		t.Provisionable = false
		return t, true
	}
	return schema.Lookup(name)
}

// A type that only AWS knows is made through Cloud Control, and its schema, asked
// for once a run, says what replaces it (T-202, T-410, T-413).
func TestTypesThatOnlyAWSKnows(t *testing.T) {
	for _, typ := range []string{"AWS::Younger::Thing", "Acme::Shop::Thing"} {
		t.Run(typ, func(t *testing.T) {
			e, cloud := newEngineOn(t, sandbox.Options{Types: registry})
			dir := t.TempDir()
			deploy := func(name, size string) *result.Run {
				t.Helper()
				cloud.ClearLog()
				writeApp(t, dir, map[string]string{"Shop": `"A": {"Type": "` + typ + `", "Properties": {"Name": "` + name + `", "Size": "` + size + `"}}, "B": {"Type": "` + typ + `"},
					"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop/p", "Type": "String", "Value": {"Fn::GetAtt": ["A", "Arn"]}}}`})
				run, err := e.Deploy(t.Context(), deployAll(dir))
				if err != nil || len(run.Stacks) != 1 || run.Stacks[0].Outcome != result.Success {
					t.Fatalf("%v, %+v", err, run.Stacks[0])
				}
				return run
			}
			asked := func() (n int) {
				for _, q := range cloud.Log() {
					if q.Action == "DescribeType" {
						n++
					}
				}
				return n
			}
			if deploy("a", "1"); asked() != 1 {
				t.Errorf("asked %d times for one type", asked())
			}
			if c := deploy("a", "2").Stacks[0].Plan.Change("A"); c.Action == plan.Replace {
				t.Errorf("another size replaces: %+v", c)
			}
			if c := deploy("b", "2").Stacks[0].Plan.Change("A"); c.Action != plan.Replace {
				t.Errorf("another name does not replace: %+v", c)
			}
			if p, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: new("/shop/p")}); err != nil || !strings.Contains(*p.Parameter.Value, "b") {
				t.Errorf("%v, %v", p, err)
			}
			run, err := e.Destroy(t.Context(), engine.DestroyOptions{Selection: deployAll(dir).Selection, ResourceTimeout: time.Minute})
			if err != nil || run.Stacks[0].Outcome != result.Success {
				t.Errorf("destroy: %v, %+v", err, run.Stacks[0])
			}
		})
	}
}

// What nothing can make, or nobody has, is refused before anything is made.
func TestTypesThatNobodyHas(t *testing.T) {
	for _, c := range []struct{ name, typ, want string }{
		{"misspelt", "AWS::SQS::Queu", "there is no such type in us-east-1; check its spelling"},
		{"not to be managed", "AWS::Younger::Frozen", "Cloud Control cannot manage it"},
		{"not activated", "Acme::Shop::Other", "the account has none of that name in us-east-1; activate the extension there"},
		{"no name of a type", "Acme::Shop", "it is not a type of AWS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, cloud := newEngineOn(t, sandbox.Options{Types: registry})
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "v"}}, "A": {"Type": "` + c.typ + `"}`})
			run, err := e.Deploy(t.Context(), deployAll(dir))
			if err == nil || !strings.Contains(run.Message, c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
			for _, q := range cloud.Log() {
				if q.Action == "PutParameter" || q.Action == "CreateResource" || q.Action == "PutObject" {
					t.Errorf("%s was sent", q.Action)
				}
			}
		})
	}
}

// Without the permission a type of AWS is tried, and what that costs is said; one of
// somebody else is not.
func TestTypesThatMayNotBeDescribed(t *testing.T) {
	for typ, want := range map[string]string{
		"AWS::Younger::Thing": "",
		"Acme::Shop::Thing":   "what the account has of it cannot be read (cloudformation:DescribeType)",
	} {
		_, cloud := newEngineOn(t, sandbox.Options{Types: registry})
		var warned []string
		config := configOn(t, cloud)
		config.Observe = func(ev engine.Event) {
			if ev.Kind == engine.Warning {
				warned = append(warned, ev.Text)
			}
		}
		e := engine.New(config)
		cloud.AddFault(sandbox.Fault{Service: "cloudformation", Action: "DescribeType", Status: 403, Code: "AccessDenied"})
		dir := t.TempDir()
		writeApp(t, dir, map[string]string{"Shop": `"A": {"Type": "` + typ + `", "Properties": {"Name": "a"}}`})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if want == "" {
			if err != nil || !strings.Contains(strings.Join(warned, "\n"), "cloudformation:DescribeType") {
				t.Errorf("%v, warned of %q", err, warned)
			}
		} else if err == nil || !strings.Contains(run.Message, want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
