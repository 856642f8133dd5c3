package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

func TestRows(t *testing.T) {
	current := recordOf(t,
		"Same", "AWS::SNS::Topic", `{"TopicName":"t"}`,
		"Retyped", "AWS::SNS::Topic", `{}`,
		"Policy", "AWS::SNS::Topic", `{}`,
		"Stamped", "Custom::Thing", `{"ServiceToken":"f","Timestamp":1}`,
		"Metadata", "AWS::CDK::Metadata", `{"Analytics":"old"}`,
		"Kept", "AWS::SNS::Topic", `{}`,
		"KeptOnCreate", "AWS::SNS::Topic", `{}`,
		"Gone", "AWS::SNS::Topic", `{}`,
	)
	current.Resources["Kept"].DeletionPolicy = "Retain"
	current.Resources["KeptOnCreate"].DeletionPolicy = "RetainExceptOnCreate"
	p := compute(t, Input{Current: current, Desired: []Resource{
		{LogicalID: "New", Type: "AWS::SNS::Topic", Properties: object(t, `{"TopicName":{"Ref":"AWS::NoValue"},"FifoTopic":true}`)},
		{LogicalID: "Same", Type: "AWS::SNS::Topic", Properties: object(t, `{"TopicName":"t","DisplayName":{"Ref":"AWS::NoValue"}}`)},
		{LogicalID: "Retyped", Type: "AWS::SQS::Queue"},
		{LogicalID: "Policy", Type: "AWS::SNS::Topic", DeletionPolicy: "Retain"},
		{LogicalID: "Stamped", Type: "Custom::Thing", Properties: object(t, `{"ServiceToken":"f","Timestamp":2}`)},
		{LogicalID: "CDKMetadata", Type: "AWS::CDK::Metadata", Properties: object(t, `{"Analytics":"x"}`)},
	}})
	want := map[string]Action{
		"New": Create, "Same": NoChange, "Retyped": Replace, "Policy": Update, "Stamped": NoChange,
		"Kept": Retain, "KeptOnCreate": Retain, "Gone": Delete,
	}
	if d := cmp.Diff(want, actions(p)); d != "" {
		t.Errorf("(T-401, T-404, T-407, S-40) (-want +got)\n%s", d)
	}
	var order []string
	for _, c := range p.Changes {
		order = append(order, c.LogicalID)
	}
	if d := cmp.Diff([]string{"New", "Same", "Retyped", "Policy", "Stamped", "Kept", "KeptOnCreate", "Gone"}, order); d != "" {
		t.Errorf("order (-want +got)\n%s", d)
	}
	retyped := []PropertyChange{{Path: "Type", Old: "AWS::SNS::Topic", New: "AWS::SQS::Queue", HasOld: true, HasNew: true, Replaces: true}}
	if d := cmp.Diff(retyped, p.Change("Retyped").Properties); d != "" {
		t.Errorf("another type (T-401) (-want +got)\n%s", d)
	}
	if !p.Change("Policy").MetadataOnly() || p.Change("Retyped").MetadataOnly() {
		t.Error("only a policy's change is metadata only (T-408)")
	}
	if d := cmp.Diff(object(t, `{"FifoTopic":true}`), p.Change("New").Desired, same); d != "" {
		t.Errorf("NoValue stays in what is wanted (-want +got)\n%s", d)
	}
	counts := Counts{Create: 1, Update: 1, Replace: 1, Delete: 1, Retain: 2, NoChange: 2}
	if d := cmp.Diff(counts, p.Counts()); d != "" {
		t.Errorf("counts (-want +got)\n%s", d)
	}
	if !p.Destructive() || !p.Changed() {
		t.Error("a replacement and a delete are destructive (T-414)")
	}
	if id := p.Change("Gone").PhysicalID; id != "id-Gone" {
		t.Errorf("physical id %q", id)
	}
}

func TestOrderOfProperties(t *testing.T) {
	p := compute(t, Input{
		Current: recordOf(t, "Q", "AWS::SQS::Queue", `{"VisibilityTimeout":1,"DelaySeconds":1,"MaximumMessageSize":1024}`),
		Desired: []Resource{{LogicalID: "Q", Type: "AWS::SQS::Queue", Properties: object(t, `{"KmsMasterKeyId":"k","DelaySeconds":2,"VisibilityTimeout":2,"MaximumMessageSize":1024}`)}},
	})
	var got []string
	for _, c := range p.Changes[0].Properties {
		got = append(got, c.Path)
	}
	if d := cmp.Diff([]string{"VisibilityTimeout", "DelaySeconds", "KmsMasterKeyId"}, got); d != "" {
		t.Errorf("recorded ones first, then new ones (T-404) (-want +got)\n%s", d)
	}
}

func TestMaskedProperties(t *testing.T) {
	for _, c := range []struct {
		rule     string
		resource Resource
		old, new string
		want     Action
	}{
		{"a masked value left as it is (S-160)", Resource{}, `{"Password":"***"}`, `{"Password":"***"}`, NoChange},
		{"a NoEcho parameter given again is a new value (S-160)", Resource{Supplied: []string{"Password"}}, `{"Password":"***"}`, `{"Password":"***"}`, Update},
		{"an unchanged reference to a secret (S-159)", Resource{}, `{"Password":"{{resolve:secretsmanager:s}}"}`, `{"Password":"{{resolve:secretsmanager:s}}"}`, NoChange},
		{"an outcome that nobody knows (P-21)", Resource{Uncertain: []string{"Password"}}, `{"Password":"a"}`, `{"Password":"a"}`, Update},
		{"also of a property that is on neither side (P-21)", Resource{Uncertain: []string{"Tags"}}, `{}`, `{}`, Update},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := c.resource
			r.LogicalID, r.Type, r.Properties = "R", "AWS::Nope::Nope", object(t, c.new)
			p := compute(t, Input{Current: recordOf(t, "R", r.Type, c.old), Desired: []Resource{r}})
			if got := p.Changes[0].Action; got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestMaskHidesAReplacement(t *testing.T) {
	for _, c := range []struct {
		rule, typ, old, new string
		supplied            string
		want                Action
		incomparable        bool
	}{
		{"a name", "AWS::SQS::Queue", `{"QueueName":"***"}`, `{"QueueName":"***"}`, "QueueName", MayReplace, true},
		{"a name left as it is", "AWS::SQS::Queue", `{"QueueName":"***"}`, `{"QueueName":"***"}`, "", NoChange, false},
		{"a name that was another one", "AWS::SQS::Queue", `{"QueueName":"q"}`, `{"QueueName":"***"}`, "QueueName", Replace, false},
		{"what is changed in place", "AWS::SQS::Queue", `{"KmsMasterKeyId":"***"}`, `{"KmsMasterKeyId":"***"}`, "KmsMasterKeyId", Update, false},
		{"a create-only path", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"***"}}`, `{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"***"}}`, "KubernetesNetworkConfig", MayReplace, true},
		{"a create-only path beside what changes in place", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"***"}}`,
			`{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"***","ElasticLoadBalancing":{"Enabled":true}}}`, "KubernetesNetworkConfig", MayReplace, true},
		{"a path beside a create-only one", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"a","ElasticLoadBalancing":"***"}}`,
			`{"KubernetesNetworkConfig":{"ServiceIpv4Cidr":"a","ElasticLoadBalancing":"***"}}`, "KubernetesNetworkConfig", Update, false},
		{"what is a new version with every change", "AWS::ECS::TaskDefinition", `{"Cpu":"***"}`, `{"Cpu":"***"}`, "Cpu", MayReplace, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := Resource{LogicalID: "R", Type: c.typ, Properties: object(t, c.new)}
			if c.supplied != "" {
				r.Supplied = []string{c.supplied}
			}
			got := compute(t, Input{Current: recordOf(t, "R", c.typ, c.old), Desired: []Resource{r}}).Changes[0]
			incomparable := slices.ContainsFunc(got.Properties, func(p PropertyChange) bool { return p.Incomparable })
			if got.Action != c.want || incomparable != c.incomparable {
				t.Errorf("got %s, incomparable %t", got.Action, incomparable)
			}
		})
	}
}

// ref makes a resource with one property that refers to another resource.
func ref(t testing.TB, id, typ, property, resolved, written string, refs ...Reference) Resource {
	return Resource{
		LogicalID: id, Type: typ,
		Properties: object(t, `{"`+property+`":`+resolved+`}`),
		Written:    object(t, `{"`+property+`":`+written+`}`),
		References: map[string][]Reference{property: refs},
	}
}

func TestPropagation(t *testing.T) {
	queue := Resource{LogicalID: "Q", Type: "AWS::SQS::Queue", Properties: object(t, `{"QueueName":"b"}`)}
	replaced := []string{"Q", "AWS::SQS::Queue", `{"QueueName":"a"}`}
	toQueue := Reference{LogicalID: "Q"}
	for _, c := range []struct {
		rule    string
		current []string
		desired []Resource
		want    map[string]Action
	}{
		{"who refers to a replaced resource is updated (T-415)",
			[]string{"P", "AWS::SQS::QueuePolicy", `{"Queues":["q"]}`, "O", "AWS::SQS::QueuePolicy", `{"Queues":["other"]}`},
			[]Resource{
				ref(t, "P", "AWS::SQS::QueuePolicy", "Queues", `["q"]`, `[{"Ref":"Q"}]`, toQueue),
				ref(t, "O", "AWS::SQS::QueuePolicy", "Queues", `["other"]`, `["other"]`),
			},
			map[string]Action{"P": Update, "O": NoChange}},
		{"new and going rows are left alone (T-415)",
			[]string{"Going", "AWS::SQS::QueuePolicy", `{"Queues":["q"]}`},
			[]Resource{ref(t, "Coming", "AWS::SQS::QueuePolicy", "Queues", `[{"Ref":"Q"}]`, `[{"Ref":"Q"}]`, toQueue)},
			map[string]Action{"Going": Delete, "Coming": Create}},
		{"by a rule it is replaced in turn, and that is followed (T-415)",
			[]string{"E", "AWS::Lambda::EventInvokeConfig", `{"FunctionName":"q"}`, "X", "AWS::SNS::Topic", `{"DisplayName":"e"}`},
			[]Resource{
				ref(t, "E", "AWS::Lambda::EventInvokeConfig", "FunctionName", `"q"`, `{"Ref":"Q"}`, toQueue),
				ref(t, "X", "AWS::SNS::Topic", "DisplayName", `"e"`, `{"Ref":"E"}`, Reference{LogicalID: "E"}),
			},
			map[string]Action{"E": Replace, "X": Update}},
		{"by the schema it may be (T-416, T-417)",
			[]string{"S", "AWS::SNS::Subscription", `{"Endpoint":"q"}`},
			[]Resource{ref(t, "S", "AWS::SNS::Subscription", "Endpoint", `"q"`, `{"Fn::GetAtt":["Q","Arn"]}`, Reference{"Q", "Arn"})},
			map[string]Action{"S": MayReplace}},
		{"a nested path only where it is fed (T-417)",
			[]string{"C", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"IpFamily":"ipv4","X":"q"}}`},
			[]Resource{ref(t, "C", "AWS::EKS::Cluster", "KubernetesNetworkConfig", `{"IpFamily":"ipv4","X":"q"}`, `{"IpFamily":"ipv4","X":{"Ref":"Q"}}`, toQueue)},
			map[string]Action{"C": Update}},
		{"a nested path that is fed (T-417)",
			[]string{"C", "AWS::EKS::Cluster", `{"KubernetesNetworkConfig":{"IpFamily":"q"}}`},
			[]Resource{ref(t, "C", "AWS::EKS::Cluster", "KubernetesNetworkConfig", `{"IpFamily":"q"}`, `{"IpFamily":{"Fn::Sub":"${Q.Arn}"}}`, Reference{"Q", "Arn"})},
			map[string]Action{"C": MayReplace}},
		{"a property that a condition takes away stays away",
			[]string{"P", "AWS::SQS::QueuePolicy", `{}`},
			[]Resource{{LogicalID: "P", Type: "AWS::SQS::QueuePolicy", Properties: object(t, `{}`),
				Written:    object(t, `{"Queues":{"Fn::If":["C",[{"Ref":"Q"}],{"Ref":"AWS::NoValue"}]}}`),
				References: map[string][]Reference{"Queues": {toQueue}}}},
			map[string]Action{"P": NoChange}},
		{"a custom resource is updated",
			[]string{"C", "Custom::Thing", `{"Url":"q"}`},
			[]Resource{ref(t, "C", "Custom::Thing", "Url", `"q"`, `{"Ref":"Q"}`, toQueue)},
			map[string]Action{"C": Update}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := compute(t, Input{
				Current: recordOf(t, append(replaced, c.current...)...),
				Desired: append([]Resource{queue}, c.desired...),
			})
			got := actions(p)
			delete(got, "Q")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}

	t.Run("an own change is not overwritten (T-415)", func(t *testing.T) {
		p := compute(t, Input{
			Current: recordOf(t, append(replaced, "P", "AWS::SQS::QueuePolicy", `{"Queues":["q"]}`)...),
			Desired: []Resource{queue, ref(t, "P", "AWS::SQS::QueuePolicy", "Queues", `["q","r"]`, `[{"Ref":"Q"},"r"]`, toQueue)},
		})
		want := []PropertyChange{{Path: "Queues", Old: parse(t, `["q"]`), New: parse(t, `["q","r"]`), HasOld: true, HasNew: true}}
		if d := cmp.Diff(want, p.Change("P").Properties, same); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
	t.Run("two that refer to each other's attributes end (T-415)", func(t *testing.T) {
		p := compute(t, Input{
			Current: recordOf(t, append(replaced, "A", "Custom::A", `{"B":"b","Q":"q"}`, "B", "Custom::B", `{"A":"a"}`)...),
			Desired: []Resource{queue,
				{LogicalID: "A", Type: "Custom::A", Properties: object(t, `{"B":"b","Q":"q"}`), Written: object(t, `{"B":{"Fn::GetAtt":["B","A"]},"Q":{"Ref":"Q"}}`),
					References: map[string][]Reference{"B": {{"B", "A"}}, "Q": {toQueue}}},
				ref(t, "B", "Custom::B", "A", `"a"`, `{"Fn::GetAtt":["A","Q"]}`, Reference{"A", "Q"}),
			},
		})
		if d := cmp.Diff(map[string]Action{"Q": Replace, "A": Update, "B": Update}, actions(p)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

func TestAttributesOfInPlaceUpdates(t *testing.T) {
	for _, c := range []struct {
		rule, typ, old, new string
		attribute           string
		want                Action
	}{
		{"the attribute of a property that changes (T-418)", "AWS::SSM::Parameter", `{"Type":"String","Value":"1"}`, `{"Type":"String","Value":"2"}`, "Value", Update},
		{"another attribute (T-418)", "AWS::SSM::Parameter", `{"Type":"String","Value":"1"}`, `{"Type":"String","Value":"2"}`, "Type", NoChange},
		{"Ref (T-418)", "AWS::SSM::Parameter", `{"Value":"1"}`, `{"Value":"2"}`, "", NoChange},
		{"below the property (T-418)", "AWS::Nope::Nope", `{"A":{"B":1}}`, `{"A":{"B":2}}`, "A.B", Update},
		{"a launch template's version (T-418)", "AWS::EC2::LaunchTemplate", `{"LaunchTemplateData":{"a":1}}`, `{"LaunchTemplateData":{"a":2}}`, "LatestVersionNumber", Update},
		{"an attribute that shows the property elsewhere", "AWS::RDS::DBInstance", `{"Port":"1"}`, `{"Port":"2"}`, "Endpoint.Port", Update},
		{"its neighbour", "AWS::RDS::DBInstance", `{"Port":"1"}`, `{"Port":"2"}`, "Endpoint.Address", NoChange},
		{"whatever a custom resource's handler answers", "Custom::Thing", `{"A":"1"}`, `{"A":"2"}`, "Data", Update},
		{"a custom resource's id, which its handler may change", "Custom::Thing", `{"A":"1"}`, `{"A":"2"}`, "", Update},
		{"a nested stack's outputs", "AWS::CloudFormation::Stack", `{"TemplateURL":"1"}`, `{"TemplateURL":"2"}`, "Outputs.X", Update},
		{"a nested stack's id", "AWS::CloudFormation::Stack", `{"TemplateURL":"1"}`, `{"TemplateURL":"2"}`, "", NoChange},
		{"a launch template's id (T-418)", "AWS::EC2::LaunchTemplate", `{"LaunchTemplateData":{"a":1}}`, `{"LaunchTemplateData":{"a":2}}`, "LaunchTemplateId", NoChange},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := compute(t, Input{
				Current: recordOf(t, "X", c.typ, c.old, "Y", "AWS::SNS::Topic", `{"DisplayName":"d"}`),
				Desired: []Resource{
					{LogicalID: "X", Type: c.typ, Properties: object(t, c.new)},
					ref(t, "Y", "AWS::SNS::Topic", "DisplayName", `"d"`, `{"Ref":"X"}`, Reference{"X", c.attribute}),
				},
			})
			if got := p.Change("Y").Action; got != c.want {
				t.Errorf("got %s", got)
			}
			for _, change := range p.Change("Y").Properties {
				if !change.Carried || change.Propagated {
					t.Errorf("flags: %+v", change)
				}
			}
		})
	}
}

func TestErrorsOfAllRows(t *testing.T) {
	no := errors.New("no layer can provision it")
	_, err := Compute(Input{
		Stack:   "S",
		Current: recordOf(t, "Same", "AWS::A::A", `{}`),
		Desired: []Resource{
			{LogicalID: "One", Type: "AWS::A::A"}, {LogicalID: "Two", Type: "AWS::B::B"},
			{LogicalID: "Same", Type: "AWS::A::A"}, {LogicalID: "One", Type: "AWS::A::A"},
		},
		Route: func(*Resource, *value.Object, *state.Resource) (Route, error) { return Route{}, no },
	})
	if !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	want := strings.Join([]string{
		"plan One of stack S: the logical id is there twice",
		"plan One (AWS::A::A) of stack S: no layer can provision it",
		"plan Two (AWS::B::B) of stack S: no layer can provision it",
	}, "\n")
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestRouteSeesTheRowUnlessItGoes(t *testing.T) {
	got := map[string]bool{}
	compute(t, Input{
		Current: recordOf(t, "U", "AWS::SNS::Topic", `{}`, "T", "AWS::SNS::Topic", `{}`, "N", "AWS::SNS::Topic", `{}`, "D", "AWS::SNS::Topic", `{}`),
		Desired: []Resource{
			{LogicalID: "U", Type: "AWS::SNS::Topic", Properties: object(t, `{"DisplayName":"U"}`)},
			{LogicalID: "T", Type: "AWS::SQS::Queue", Properties: object(t, `{"DisplayName":"T"}`)},
			{LogicalID: "N", Type: "AWS::SNS::Topic"},
			{LogicalID: "C", Type: "AWS::SNS::Topic", Properties: object(t, `{"DisplayName":"C"}`)},
		},
		Route: func(_ *Resource, p *value.Object, row *state.Resource) (Route, error) {
			got[p.String("DisplayName")] = row != nil
			return Route{}, nil
		},
	})
	if d := cmp.Diff(map[string]bool{"U": true, "T": false, "C": false}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestChildren(t *testing.T) {
	p := compute(t, Input{
		Current: recordOf(t, "N", "AWS::CloudFormation::Stack", `{}`),
		Desired: []Resource{{LogicalID: "N", Type: "AWS::CloudFormation::Stack"}},
	})
	if p.Changed() {
		t.Fatal("changed")
	}
	p.AddChild("N", &Plan{Stack: "S~N", Changes: []*Change{{LogicalID: "X", Action: Delete}}})
	if c := p.Change("N"); c.Action != Update || !c.ChildChanged || c.MetadataOnly() {
		t.Errorf("a child that changes makes its row an update (T-456): %+v", c)
	}
	if !p.Changed() || !p.Destructive() {
		t.Error("a child's delete counts for the parent")
	}
}

// randomValue makes values of every kind, function calls among them.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case depth > 0 && n == 0:
		o := &value.Object{}
		for range r.IntN(4) {
			o.Set(fmt.Sprintf("k%d", r.IntN(6)), randomValue(r, depth-1))
		}
		return o
	case depth > 0 && n == 1:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	case n == 2:
		return value.Int(r.IntN(3))
	case n == 3:
		return r.IntN(2) == 0
	case n == 4:
		return nil
	case n == 5:
		return value.NewObject("Ref", "X")
	}
	return fmt.Sprintf("v%d", r.IntN(3))
}

func randomInput(r *rand.Rand) Input {
	types := []string{"AWS::SQS::Queue", "AWS::IAM::Role", "AWS::EKS::Cluster", "Custom::Thing", "AWS::Nope::Nope", "AWS::DynamoDB::Table"}
	properties := []string{"QueueName", "Tags", "Path", "KubernetesNetworkConfig", "AttributeDefinitions", "AssumeRolePolicyDocument", "Timestamp"}
	in := Input{Stack: "S", Region: "r"}
	for i := range 1 + r.IntN(6) {
		want := Resource{LogicalID: fmt.Sprintf("R%d", i), Type: types[r.IntN(len(types))], Properties: &value.Object{}, References: map[string][]Reference{}}
		for range r.IntN(5) {
			p := properties[r.IntN(len(properties))]
			want.Properties.Set(p, randomValue(r, 4))
			want.References[p] = []Reference{{fmt.Sprintf("R%d", r.IntN(6)), []string{"", "Tags"}[r.IntN(2)]}}
		}
		in.Desired = append(in.Desired, want)
		in.Outputs = append(in.Outputs, Output{Name: fmt.Sprintf("O%d", i), Value: randomValue(r, 2)})
	}
	return in
}

// recordAfter is what a deploy of in would record.
func recordAfter(in Input) *state.Record {
	r := state.NewRecord(in.Stack, in.Region)
	for _, want := range in.Desired {
		r.Set(want.LogicalID, &state.Resource{ResourceType: want.Type, Properties: want.Properties.Clone()})
	}
	r.Outputs = &value.Object{}
	for _, o := range in.Outputs {
		r.Outputs.Set(o.Name, value.Clone(o.Value))
	}
	return r
}

// A record of the same properties leaves nothing to do.
func TestSameIsNoChange(t *testing.T) {
	for seed := range uint64(500) {
		in := randomInput(rand.New(rand.NewPCG(seed, 1)))
		in.Current = recordAfter(in)
		p := compute(t, in)
		if p.Changed() || p.Destructive() {
			t.Fatalf("seed %d: %v", seed, p.Counts())
		}
	}
}

// Whatever is compared: nothing that was given is changed, the same input gives
// the same plan.
func TestComputeIsPure(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		in := randomInput(r)
		in.Current = recordAfter(randomInput(r))
		before := snapshot(in)
		p := compute(t, in)
		again := compute(t, in)
		if d := cmp.Diff(before, snapshot(in)); d != "" {
			t.Fatalf("seed %d: the input changed (-before +after)\n%s", seed, d)
		}
		if d := cmp.Diff(p, again, same); d != "" || p.Digest() != again.Digest() {
			t.Fatalf("seed %d: two plans of one input\n%s", seed, d)
		}
	}
}

func snapshot(in Input) (list []string) {
	for _, r := range in.Desired {
		list = append(list, r.LogicalID, value.JSON(r.Properties), fmt.Sprint(r.References))
	}
	for id, r := range in.Current.Resources {
		list = append(list, "record "+id+value.JSON(r.Properties))
	}
	for _, o := range in.Outputs {
		list = append(list, o.Name, value.JSON(o.Value))
	}
	// The record's map has no order.
	slices.Sort(list)
	return list
}
