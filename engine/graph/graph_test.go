package graph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/org/cdkd-action/engine/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRestrict(t *testing.T) {
	tests := []struct {
		name  string
		edges Edges
		keep  string
		want  Edges
	}{
		{"order holds through an unchanged resource (T-331, T-332)", Edges{"C": {"B"}, "B": {"A"}}, "A C", Edges{"C": {"A"}}},
		{"and through a chain of them", Edges{"D": {"C"}, "C": {"B"}, "B": {"A"}}, "A D", Edges{"D": {"A"}}},
		{"a direct edge is kept once", Edges{"C": {"A", "B"}, "B": {"A"}}, "A C", Edges{"C": {"A"}}},
		{"nothing before is nothing", Edges{"C": {"B"}}, "C", Edges{}},
		{"two ways round", Edges{"D": {"B", "C"}, "B": {"A"}, "C": {"A"}}, "A D", Edges{"D": {"A"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.edges.Restrict(func(id string) bool { return strings.Contains(tt.keep, id) })
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCycle(t *testing.T) {
	_, _, err := Creation([]Resource{
		{LogicalID: "A", References: []string{"B"}},
		{LogicalID: "B", DependsOn: []string{"C"}},
		{LogicalID: "C", References: []string{"A"}},
		{LogicalID: "D", References: []string{"A"}},
	}, false)
	var cycle *CycleError
	if !errors.As(err, &cycle) {
		t.Fatalf("want a *CycleError, got %v", err)
	}
	if got, want := err.Error(), "circular dependency: A -> B -> C -> A"; got != want {
		t.Errorf("a cycle is named with its path (T-324)\nwant %s\ngot  %s", want, got)
	}
}

func TestCreationAsDeclared(t *testing.T) {
	waits, _, err := Creation([]Resource{{LogicalID: "Route", Type: "AWS::EC2::Route"}, {LogicalID: "Role", Type: "AWS::IAM::Role", DependsOn: []string{"Route"}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Edges{"Role": {"Route"}}, waits); d != "" {
		t.Errorf("no declared order is relaxed when that is not wanted (T-322): %s", d)
	}
}

func TestCreation(t *testing.T) {
	tests := []struct {
		name            string
		resources       []Resource
		waits, recorded Edges
	}{
		{
			"a DependsOn on a route does not hold up a role, but is recorded (T-322, T-323)",
			[]Resource{{LogicalID: "Route", Type: "AWS::EC2::Route"}, {LogicalID: "Role", Type: "AWS::IAM::Role", DependsOn: []string{"Route"}}},
			Edges{}, Edges{"Role": {"Route"}},
		},
		{
			"it does where the role also refers to the route (T-323)",
			[]Resource{{LogicalID: "Route", Type: "AWS::EC2::Route"}, {LogicalID: "Role", Type: "AWS::IAM::Role", DependsOn: []string{"Route"}, References: []string{"Route"}}},
			Edges{"Role": {"Route"}}, Edges{"Role": {"Route"}},
		},
		{
			"a parameter and a dropped resource are no dependency (T-315, T-316)",
			[]Resource{{LogicalID: "Q", Type: "AWS::SQS::Queue", References: []string{"Param"}, DependsOn: []string{"Dropped"}}},
			Edges{}, Edges{},
		},
		{
			"a custom resource waits for its function's policies (T-319)",
			[]Resource{
				{LogicalID: "Role", Type: "AWS::IAM::Role"},
				{LogicalID: "Policy", Type: "AWS::IAM::Policy", References: []string{"Role"}, Properties: object(t, `{"Roles":[{"Ref":"Role"}]}`)},
				{LogicalID: "Fn", Type: "AWS::Lambda::Function", References: []string{"Role"}, Properties: object(t, `{"Role":{"Fn::GetAtt":["Role","Arn"]}}`)},
				{LogicalID: "CR", Type: "Custom::Thing", References: []string{"Fn"}, Properties: object(t, `{"ServiceToken":{"Fn::GetAtt":["Fn","Arn"]}}`)},
			},
			Edges{"Policy": {"Role"}, "Fn": {"Role"}, "CR": {"Fn", "Policy"}},
			Edges{"Policy": {"Role"}, "Fn": {"Role"}, "CR": {"Fn"}},
		},
		{
			"and for those of the handler behind the provider framework (T-320)",
			[]Resource{
				{LogicalID: "Role", Type: "AWS::IAM::Role"},
				{LogicalID: "HandlerRole", Type: "AWS::IAM::Role"},
				{LogicalID: "HandlerPolicy", Type: "AWS::IAM::Policy", References: []string{"HandlerRole"}, Properties: object(t, `{"Roles":[{"Ref":"HandlerRole"}]}`)},
				{LogicalID: "Handler", Type: "AWS::Lambda::Function", References: []string{"HandlerRole"}, Properties: object(t, `{"Role":{"Fn::GetAtt":["HandlerRole","Arn"]}}`)},
				{LogicalID: "Fn", Type: "AWS::Lambda::Function", References: []string{"Role", "Handler"}, Properties: object(t, `{"Role":{"Fn::GetAtt":"Role.Arn"},"Environment":{"Variables":{"USER_ON_EVENT_FUNCTION_ARN":{"Fn::Sub":"${Handler.Arn}"}}}}`)},
				{LogicalID: "CR", Type: "AWS::CloudFormation::CustomResource", References: []string{"Fn"}, Properties: object(t, `{"ServiceToken":{"Fn::GetAtt":["Fn","Arn"]}}`)},
			},
			Edges{"HandlerPolicy": {"HandlerRole"}, "Handler": {"HandlerRole"}, "Fn": {"Role", "Handler"}, "CR": {"Fn", "HandlerPolicy"}},
			Edges{"HandlerPolicy": {"HandlerRole"}, "Handler": {"HandlerRole"}, "Fn": {"Role", "Handler"}, "CR": {"Fn"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			waits, recorded, err := Creation(tt.resources, false)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.waits, waits); d != "" {
				t.Errorf("waits: %s", d)
			}
			if d := cmp.Diff(tt.recorded, recorded); d != "" {
				t.Errorf("recorded: %s", d)
			}
		})
	}
}

func TestDeletion(t *testing.T) {
	tests := []struct {
		name  string
		order string
		rows  map[string]Row
		want  Edges
	}{
		{
			"what depends on it goes first (T-350)", "Q P",
			map[string]Row{"Q": {Type: "AWS::SQS::Queue"}, "P": {Type: "AWS::SQS::QueuePolicy", Dependencies: []string{"Q", "Gone"}}},
			Edges{"Q": {"P"}},
		},
		{
			"a NAT gateway before its address, its subnet's network after both (T-350, T-352)", "E N G",
			map[string]Row{"E": {Type: "AWS::EC2::EIP"}, "N": {Type: "AWS::EC2::NatGateway"}, "G": {Type: "AWS::EC2::InternetGateway"}},
			Edges{"E": {"N"}, "G": {"N"}},
		},
		{
			"a table edge that would close a cycle is dropped (T-352)", "G N",
			map[string]Row{"G": {Type: "AWS::EC2::InternetGateway", Dependencies: []string{"N"}}, "N": {Type: "AWS::EC2::NatGateway"}},
			Edges{"N": {"G"}},
		},
		{
			"a composite alarm before the alarms it names (T-351)", "A B C",
			map[string]Row{
				"A": {Type: "AWS::CloudWatch::Alarm", PhysicalID: "s-a"},
				"B": {Type: "AWS::CloudWatch::Alarm", PhysicalID: "s-b"},
				"C": {Type: "AWS::CloudWatch::CompositeAlarm", PhysicalID: "s-c", Properties: object(t, `{"AlarmRule":"ALARM(\"s-a\") OR OK(arn:aws:cloudwatch:us-east-1:123456789012:alarm:s-b)"}`)},
			},
			Edges{"A": {"C"}, "B": {"C"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Deletion(strings.Fields(tt.order), tt.rows)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRunRespectsOrder(t *testing.T) { // T-150, T-330, T-344
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		const n = 40
		var tasks []Task
		after := Edges{}
		var mu sync.Mutex
		var done []string
		most, running := 0, 0
		for i := range n {
			id := fmt.Sprintf("r%02d", i)
			for range rnd.IntN(4) {
				if i > 0 {
					after.Add(id, fmt.Sprintf("r%02d", rnd.IntN(i)))
				}
			}
			tasks = append(tasks, Task{ID: id, Run: func(context.Context) error {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				running--
				for _, p := range after[id] {
					if !slices.Contains(done, p) {
						return fmt.Errorf("%s ran before %s", id, p)
					}
				}
				done = append(done, id)
				return nil
			}})
		}
		for id, o := range Run(t.Context(), tasks, after, Options{Limit: 3}) {
			if o.Status != Succeeded {
				t.Fatalf("round %d: %s: %v", round, id, o)
			}
		}
		if most > 3 {
			t.Fatalf("%d ran at once, the limit is 3", most)
		}
	}
}

// TestRunEachAPI: the tasks of one API wait for each other, and those of
// another go past them.
func TestRunEachAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calling, most := map[string]int{}, map[string]int{}
		all := 0
		var tasks []Task
		for i := range 24 {
			api := []string{"sqs", "s3"}[i/12]
			tasks = append(tasks, Task{ID: fmt.Sprintf("r%02d", i), API: api, Run: func(context.Context) error {
				mu.Lock()
				calling[api]++
				most[api] = max(most[api], calling[api])
				all = max(all, calling["sqs"]+calling["s3"])
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				calling[api]--
				mu.Unlock()
				return nil
			}})
		}
		start := time.Now()
		Run(t.Context(), tasks, nil, Options{Share: NewShare(7, 4)})
		if most["sqs"] != 4 || most["s3"] < 3 || most["s3"] > 4 || all != 7 {
			t.Errorf("at once %v, want 4 of each at most, and in all %d, want 7", most, all)
		}
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("took %s: an API that is busy held up the other", took)
		}
	})
}

func TestRunFailure(t *testing.T) {
	boom := errors.New("boom")
	ok := func(context.Context) error { return nil }
	fail := func(context.Context) error { return boom }
	tests := []struct {
		name  string
		tasks []Task
		after Edges
		opt   Options
		want  map[string]Status
	}{
		{
			"the first failure stops new work, dependents are skipped (T-334, T-335)",
			[]Task{{ID: "A", Run: fail}, {ID: "B", Run: ok}, {ID: "C", Run: ok}},
			Edges{"C": {"A"}, "B": {"A"}}, Options{Limit: 1},
			map[string]Status{"A": Failed, "B": Skipped, "C": Skipped},
		},
		{
			"what is not started stays so",
			[]Task{{ID: "A", Run: fail}, {ID: "B", Run: ok}}, nil, Options{Limit: 1},
			map[string]Status{"A": Failed, "B": NotStarted},
		},
		{
			"independent deletes go on in a destroy (S-304)",
			[]Task{{ID: "A", Run: fail}, {ID: "B", Run: ok}, {ID: "C", Run: ok}},
			Edges{"C": {"A"}}, Options{Limit: 1, KeepGoing: true},
			map[string]Status{"A": Failed, "B": Succeeded, "C": Skipped},
		},
		{
			"a panic is that task's failure",
			[]Task{{ID: "A", Run: func(context.Context) error { panic("x") }}}, nil, Options{},
			map[string]Status{"A": Failed},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]Status{}
			for id, o := range Run(t.Context(), tt.tasks, tt.after, tt.opt) {
				got[id] = o.Status
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRunStop(t *testing.T) {
	stop := make(chan struct{})
	started := make(chan struct{})
	release := make(chan struct{})
	tasks := []Task{
		{ID: "A", Run: func(context.Context) error { close(started); <-release; return nil }},
		{ID: "B", Run: func(context.Context) error { return nil }},
	}
	go func() {
		<-started
		close(stop)
		close(release)
	}()
	got := Run(t.Context(), tasks, Edges{"B": {"A"}}, Options{Stop: stop})
	if got["A"].Status != Succeeded || got["B"].Status != NotStarted {
		t.Errorf("a stop lets what runs finish and starts nothing (T-336): %v", got)
	}
}

func TestRunLongestChainFirst(t *testing.T) { // T-333
	var got []string
	task := func(id string, cost time.Duration) Task {
		return Task{ID: id, Cost: cost, Run: func(context.Context) error { got = append(got, id); return nil }}
	}
	Run(t.Context(), []Task{task("lone", 0), task("slow", time.Minute), task("head", 0), task("tail", 2*time.Minute)},
		Edges{"tail": {"head"}}, Options{Limit: 1})
	if d := cmp.Diff([]string{"head", "tail", "slow", "lone"}, got); d != "" {
		t.Error(d)
	}
}

// A circle that was not found before ends the run, and does not hang it (T-337).
func TestRunOfACircle(t *testing.T) {
	ok := func(context.Context) error { return nil }
	got := Run(t.Context(), []Task{{ID: "A", Run: ok}, {ID: "B", Run: ok}, {ID: "C", Run: ok}}, Edges{"A": {"B"}, "B": {"A"}}, Options{})
	if got["A"].Status != NotStarted || got["B"].Status != NotStarted || got["C"].Status != Succeeded {
		t.Errorf("got %v", got)
	}
}

func TestLongest(t *testing.T) {
	tasks := []Task{{ID: "A", Cost: time.Second}, {ID: "B", Cost: time.Minute}, {ID: "C", Cost: time.Second}, {ID: "D"}, {ID: "E", Cost: 50 * time.Second}}
	after := Edges{"B": {"A", "gone"}, "C": {"A"}, "D": {"B", "C"}}
	ids, cost := Longest(tasks, after)
	if d := cmp.Diff([]string{"A", "B", "D"}, ids); d != "" || cost != 61*time.Second {
		t.Errorf("%s (-want +got):\n%s", cost, d)
	}
	if ids, cost := Longest(nil, nil); ids != nil || cost != 0 {
		t.Errorf("of nothing: %v, %s", ids, cost)
	}
}
