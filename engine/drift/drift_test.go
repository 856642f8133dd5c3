package drift

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// lines is a comparison as text: path: expected -> actual, and path: why.
func lines(c Comparison) []string {
	var out []string
	for _, d := range c.Differences {
		if d.Hidden {
			out = append(out, d.Path.String()+": hidden")
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", d.Path, shown(d.Expected), shown(d.Actual)))
	}
	for _, g := range c.Gaps {
		out = append(out, g.Path.String()+": "+string(g.Why))
	}
	return out
}

func shown(v any) string {
	if v == nil {
		return "none"
	}
	return value.JSON(v)
}

// What is recorded is compared with what AWS says, by property, and quietly
// about what means the same (S-317).
func TestCompare(t *testing.T) {
	const secretRef = `"{{resolve:secretsmanager:db}}"`
	for _, tt := range []struct {
		name, typ          string
		declared, observed string // observed "": never read back
		read               string
		want               []string
	}{
		{name: "nothing differs", typ: "AWS::SQS::Queue", observed: `{"DelaySeconds":5}`, read: `{"DelaySeconds":5}`},
		{name: "a value", typ: "AWS::SQS::Queue", observed: `{"DelaySeconds":5}`, read: `{"DelaySeconds":7}`, want: []string{`DelaySeconds: 5 -> 7`}},
		{name: "removed", typ: "AWS::SQS::Queue", observed: `{"DelaySeconds":5}`, read: `{}`, want: []string{`DelaySeconds: 5 -> none`}},
		{name: "added to what was read back", typ: "AWS::SQS::Queue", declared: `{}`, observed: `{"QueueName":"q"}`, read: `{"QueueName":"q","DelaySeconds":5}`, want: []string{`DelaySeconds: none -> 5`}},
		{name: "a default beside what the template declares", typ: "AWS::SQS::Queue", declared: `{"QueueName":"q"}`, read: `{"QueueName":"q","DelaySeconds":5}`},
		{name: "a nested default beside what the template declares", typ: "AWS::S3::Bucket", declared: `{"VersioningConfiguration":{"Status":"Enabled"},"WebsiteConfiguration":{"IndexDocument":"i"}}`,
			read: `{"VersioningConfiguration":{"Status":"Enabled"},"WebsiteConfiguration":{"IndexDocument":"i","ErrorDocument":"e"}}`},
		{name: "what AWS does not tell of what the template declares", typ: "AWS::SQS::Queue", declared: `{"DelaySeconds":5}`, read: `{}`, want: []string{`DelaySeconds: AWS does not tell it`}},
		{name: "not set and the values for it", typ: "AWS::SQS::Queue", observed: `{"DelaySeconds":0,"FifoQueue":false,"RedrivePolicy":{},"Tags":[],"KmsMasterKeyId":""}`, read: `{}`},
		{name: "not set, the other way", typ: "AWS::SQS::Queue", observed: `{}`, read: `{"DelaySeconds":0,"FifoQueue":false,"RedrivePolicy":{},"Tags":[],"KmsMasterKeyId":""}`},
		{name: "a choice that sets nothing", typ: "AWS::WAFv2::WebACL", declared: `{"DefaultAction":{"Block":{}}}`, read: `{"DefaultAction":{"Allow":{}}}`, want: []string{`DefaultAction: {"Block":{}} -> {"Allow":{}}`}},
		{name: "a choice in a list", typ: "AWS::WAFv2::WebACL", observed: `{"Rules":[{"Name":"a","Action":{"Block":{}}}]}`, read: `{"Rules":[{"Name":"a","Action":{"Count":{}}}]}`, want: []string{`Rules[0].Action: {"Block":{}} -> {"Count":{}}`}},
		{name: "numbers and switches as text", typ: "AWS::SQS::Queue", declared: `{"DelaySeconds":"5","FifoQueue":"true","VisibilityTimeout":30}`, read: `{"DelaySeconds":5.0,"FifoQueue":true,"VisibilityTimeout":"30"}`},
		{name: "texts that look like numbers", typ: "AWS::SSM::Parameter", observed: `{"Value":"010"}`, read: `{"Value":"10"}`, want: []string{`Value: "010" -> "10"`}},

		{name: "read-only and write-only", typ: "AWS::Lambda::Function", observed: `{"Arn":"a","Code":{"S3Bucket":"b"},"Timeout":3}`, read: `{"Arn":"b","Code":{"S3Bucket":"c"},"Timeout":3}`},
		{name: "a map is its owner's whole", typ: "AWS::Lambda::Function", declared: `{"Environment":{"Variables":{"A":"1"}}}`, read: `{"Environment":{"Variables":{"A":"1","B":"2"}}}`, want: []string{`Environment.Variables.B: none -> "2"`}},

		{name: "tags in another order", typ: "AWS::SQS::Queue", observed: `{"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}`, read: `{"Tags":[{"Value":"2","Key":"b"},{"Key":"a","Value":"1"}]}`},
		{name: "tags one by one", typ: "AWS::SQS::Queue", observed: `{"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]}`, read: `{"Tags":[{"Key":"c","Value":"3"},{"Key":"a","Value":"9"}]}`,
			want: []string{`Tags.a: "1" -> "9"`, `Tags.b: "2" -> none`, `Tags.c: none -> "3"`}},
		{name: "AWS's tags and ours", typ: "AWS::SQS::Queue", observed: `{}`, read: `{"Tags":[{"Key":"aws:cloudformation:stack-name","Value":"s"},{"Key":"cdkd-action:create","Value":"x"}]}`},
		{name: "AWS's tags among others", typ: "AWS::SQS::Queue", observed: `{"Tags":[{"Key":"a","Value":"1"},{"Key":"aws:x","Value":"1"}]}`, read: `{"Tags":[{"Key":"a","Value":"1"}]}`},

		{name: "a list that has no order", typ: "AWS::EC2::Instance", observed: `{"SecurityGroupIds":["a","b"]}`, read: `{"SecurityGroupIds":["b","a"]}`},
		{name: "of a list only what differs", typ: "AWS::EC2::Instance", observed: `{"SecurityGroupIds":["a","b"]}`, read: `{"SecurityGroupIds":["c","b","d"]}`, want: []string{`SecurityGroupIds: ["a"] -> ["c","d"]`}},
		{name: "within an element", typ: "AWS::DynamoDB::Table", observed: `{"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}]}`,
			read: `{"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"c","KeyType":"RANGE"}]}`, want: []string{`KeySchema[1].AttributeName: "b" -> "c"`}},

		{name: "spellings of a policy", typ: "AWS::IAM::ManagedPolicy",
			declared: `{"PolicyDocument":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Get*","Resource":["b","a"]},{"Effect":"Deny","Action":["x","y"],"Resource":"*","Principal":{"AWS":"arn:aws:iam::123456789012:root"}}]}}`,
			read:     `{"PolicyDocument":"{\"Statement\":[{\"Sid\":\"\",\"Effect\":\"Deny\",\"Action\":[\"y\",\"x\"],\"Resource\":[\"*\"],\"Principal\":{\"AWS\":\"123456789012\"}},{\"Resource\":[\"a\",\"b\"],\"Action\":[\"s3:Get*\"],\"Effect\":\"Allow\"}],\"Version\":\"2012-10-17\"}"}`},
		{name: "a statement that stands alone", typ: "AWS::IAM::ManagedPolicy", observed: `{"PolicyDocument":{"Statement":{"Effect":"Allow","Action":"a","Resource":"*"}}}`,
			read: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"a","Resource":"*"}]}}`},
		{name: "everybody", typ: "AWS::S3::BucketPolicy", observed: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":"*","Action":"a","Condition":{"Bool":{"aws:SecureTransport":false}}}]}}`,
			read: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"a","Condition":{"Bool":{"aws:SecureTransport":["false"]}}}]}}`},
		{name: "a policy that grants more", typ: "AWS::IAM::ManagedPolicy", observed: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":["a"],"Resource":"*"}]}}`,
			read: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":["a","b"],"Resource":"*"}]}}`, want: []string{`PolicyDocument.Statement[0].Action: none -> ["b"]`}},
		{name: "another statement", typ: "AWS::IAM::ManagedPolicy", observed: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"a","Resource":"*"}]}}`,
			read: `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"a","Resource":"*"},{"Effect":"Allow","Action":"b","Resource":"*"}]}}`,
			want: []string{`PolicyDocument.Statement: none -> [{"Effect":"Allow","Action":["b"],"Resource":["*"]}]`}},

		{name: "names of the DNS", typ: "AWS::Route53::RecordSet", declared: `{"Name":"a.Example.com","ResourceRecords":["b.example.com."]}`, read: `{"Name":"a.example.com.","ResourceRecords":["b.example.com"]}`},
		{name: "prefixes", typ: "AWS::EC2::Route", observed: `{"DestinationIpv6CidrBlock":"2001:DB8:0::/32"}`, read: `{"DestinationIpv6CidrBlock":"2001:db8::/32"}`},

		{name: "a secret", typ: "AWS::Lambda::Function", declared: `{"Environment":{"Variables":{"P":` + secretRef + `,"X":"1"}}}`,
			observed: `{"Environment":{"Variables":{"P":` + secretRef + `,"X":"1"}}}`, read: `{"Environment":{"Variables":{"P":"hunter2","X":"2"}}}`,
			want: []string{`Environment.Variables.X: "1" -> "2"`, `Environment.Variables.P: its value is a secret`}},
		{name: "a NoEcho value", typ: "AWS::RDS::DBInstance", declared: `{"MasterUsername":"***"}`, read: `{"MasterUsername":"hunter2"}`, want: []string{`MasterUsername: its value is a secret`}},
		{name: "a secret that is gone", typ: "AWS::Lambda::Function", declared: `{"Environment":{"Variables":{"P":` + secretRef + `}}}`,
			observed: `{"Environment":{"Variables":{"P":` + secretRef + `}}}`, read: `{"Environment":{"Variables":{}}}`, want: []string{`Environment.Variables.P: hidden`}},
		{name: "a list that holds a secret and changed", typ: "AWS::ECS::TaskDefinition", declared: `{"Volumes":[{"Name":` + secretRef + `}]}`,
			read: `{"Volumes":[{"Name":"a"},{"Name":"hunter2"}]}`, want: []string{`Volumes: hidden`}},
		{name: "a secret for which what was read back had no place", typ: "AWS::ECS::TaskDefinition", declared: `{"Volumes":[{"Name":` + secretRef + `}]}`,
			observed: `{"Cpu":"1"}`, read: `{"Cpu":"1","Volumes":[{"Name":"hunter2"}]}`, want: []string{`Volumes: its value is a secret`}},
		{name: "a text that holds a secret and became a list", typ: "AWS::X::Y", declared: `{"A":{"B":` + secretRef + `}}`, observed: `{"A":{"B":` + secretRef + `}}`,
			read: `{"A":["hunter2"]}`, want: []string{`A: hidden`}},

		{name: "a type without a schema", typ: "AWS::X::Y", observed: `{"A":{"B":1}}`, read: `{"A":{"B":2}}`, want: []string{`A.B: 1 -> 2`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row := &state.Resource{ResourceType: tt.typ, Properties: object(t, tt.declared), Observed: object(t, tt.observed)}
			if diff := cmp.Diff(tt.want, lines(Compare(row, object(t, tt.read)))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What differs is taken over in its places, lists whole, and nothing else (S-317).
func TestApply(t *testing.T) {
	row := &state.Resource{ResourceType: "AWS::SQS::Queue",
		Properties: object(t, `{"QueueName":"q","DelaySeconds":5,"Tags":[{"Key":"a","Value":"1"}]}`),
		Observed:   object(t, `{"QueueName":"q","DelaySeconds":5,"Tags":[{"Key":"a","Value":"1"}],"MaximumMessageSize":10}`)}
	read := object(t, `{"QueueName":"q","DelaySeconds":7,"Tags":[{"Key":"b","Value":"2"}],"MaximumMessageSize":20,"VisibilityTimeout":9}`)
	c := Compare(row, read)
	declared := func(at Path) bool { return Declares(row.Properties, at) }
	for _, tt := range []struct {
		name  string
		takes func(Path) bool
		want  string
	}{
		{"everything", nil, `{"QueueName":"q","DelaySeconds":7,"Tags":[{"Key":"b","Value":"2"}],"MaximumMessageSize":20,"VisibilityTimeout":9}`},
		{"what the template declares", declared, `{"QueueName":"q","DelaySeconds":7,"Tags":[{"Key":"b","Value":"2"}]}`},
	} {
		if diff := cmp.Diff(tt.want, value.JSON(Apply(row.Properties, read, c, tt.takes))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	back := Compare(row, row.Observed)
	if len(back.Differences) > 0 {
		t.Errorf("the baseline differs from itself: %v", lines(back))
	}
	if got := value.JSON(Apply(read, row.Observed, c, nil)); got != `{"QueueName":"q","DelaySeconds":5,"Tags":[{"Key":"a","Value":"1"}],"MaximumMessageSize":10}` {
		t.Errorf("put back: %s", got)
	}
}
