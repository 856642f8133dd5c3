package exposure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

func parse(text string) any {
	v, err := value.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// change is an update of properties from one JSON object to another; "" as the
// old one makes it a create.
func change(resourceType, old, new string) *plan.Change {
	c := &plan.Change{LogicalID: "X", Type: resourceType, Action: plan.Create, Desired: parse(new).(*value.Object)}
	if old == "" {
		return c
	}
	c.Action = plan.Update
	was := parse(old).(*value.Object)
	for name, v := range was.All() {
		n, has := c.Desired.Get(name)
		if !value.Equal(v, n) {
			c.Properties = append(c.Properties, plan.PropertyChange{Path: name, Old: v, HasOld: true, New: n, HasNew: has})
		}
	}
	for name, n := range c.Desired.All() {
		if !was.Has(name) {
			c.Properties = append(c.Properties, plan.PropertyChange{Path: name, New: n, HasNew: true})
		}
	}
	return c
}

func text(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		sign, verb := "-", "allow"
		if r.Added {
			sign = "+"
		}
		if r.Deny {
			verb = "deny"
		}
		fmt.Fprintf(&b, "%s %s %s | %s | %s | %s", sign, verb, r.Who, r.What, r.On, r.Conditions)
		if r.Broadens() {
			b.WriteString(" broadens")
		}
		if r.Public() {
			b.WriteString(" public")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const lambdaTrust = `"AssumeRolePolicyDocument":{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`

func TestRules(t *testing.T) {
	tests := []struct{ name, typ, old, new, want string }{
		{"a new role: its trust, its policies and what they allow", "AWS::IAM::Role", "",
			`{` + lambdaTrust + `,"ManagedPolicyArns":["arn:aws:iam::aws:policy/ReadOnlyAccess"],"Policies":[{"PolicyName":"p","PolicyDocument":{"Statement":{"Effect":"Allow","Action":["sqs:SendMessage","sqs:GetQueueUrl"],"Resource":{"Fn::GetAtt":["Queue","Arn"]}}}}]}`,
			"+ allow lambda.amazonaws.com | sts:AssumeRole |  |  broadens\n" +
				"+ allow ${X} | everything that arn:aws:iam::aws:policy/ReadOnlyAccess allows |  |  broadens\n" +
				"+ allow ${X} | sqs:SendMessage, sqs:GetQueueUrl | ${Queue.Arn} |  broadens\n"},
		{"a statement that moved is no change; one that differs is one that goes and one that comes", "AWS::IAM::Policy",
			`{"Roles":[{"Ref":"R"}],"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"s3:Get*","Resource":"a"},{"Effect":"Allow","Action":"s3:List*","Resource":"b"}]}}`,
			`{"Roles":[{"Ref":"R"}],"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"b"},{"Effect":"Allow","Action":"s3:Get*","Resource":"a"}]}}`,
			"+ allow ${R} | s3:* | b |  broadens\n- allow ${R} | s3:List* | b | \n"},
		{"a policy that is attached to one more", "AWS::IAM::ManagedPolicy",
			`{"Roles":["a"],"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}}`,
			`{"Roles":["a","b"],"PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}}`,
			"+ allow a, b | * | * |  broadens\n- allow a | * | * | \n"},
		{"a denial that goes broadens", "AWS::SQS::QueuePolicy",
			`{"PolicyDocument":{"Statement":[{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"q","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}}`,
			`{"PolicyDocument":{"Statement":[]}}`,
			"- deny * | sqs:* | q | Bool aws:SecureTransport broadens\n"},
		{"a boundary that goes broadens", "AWS::IAM::Role", `{"PermissionsBoundary":"arn:b"}`, `{}`, "- deny ${X} | everything that arn:b does not allow |  |  broadens\n"},
		{"a bucket for everybody", "AWS::S3::BucketPolicy", "", `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}}`,
			"+ allow * | s3:GetObject | arn:aws:s3:::b/* |  broadens public\n"},
		{"unless on a condition", "AWS::S3::BucketPolicy", "", `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"b","Condition":{"StringEquals":{"aws:SourceVpce":"vpce-1"}}}]}}`,
			"+ allow * | s3:GetObject | b | StringEquals aws:SourceVpce broadens\n"},
		{"a policy that is JSON text", "AWS::Logs::ResourcePolicy", "", `{"PolicyDocument":"{\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"Service\":\"es.amazonaws.com\"},\"Action\":\"logs:PutLogEvents\",\"NotResource\":\"x\"}]}"}`,
			"+ allow es.amazonaws.com | logs:PutLogEvents | all but x |  broadens\n"},
		{"all but some", "AWS::KMS::Key", "", `{"KeyPolicy":{"Statement":[{"Effect":"Allow","NotPrincipal":{"AWS":["a","b"]},"NotAction":["kms:Delete*"],"Resource":"*"}]}}`,
			"+ allow all but a, b | all but kms:Delete* | * |  broadens\n"},
		{"a function that a service may call", "AWS::Lambda::Permission", "", `{"Principal":"sns.amazonaws.com","Action":"lambda:InvokeFunction","FunctionName":{"Ref":"F"},"SourceArn":"arn:t"}`,
			"+ allow sns.amazonaws.com | lambda:InvokeFunction | ${F} | SourceArn broadens\n"},
		{"a port that is opened to the world", "AWS::EC2::SecurityGroup",
			`{"SecurityGroupIngress":[{"IpProtocol":"tcp","FromPort":443,"ToPort":443,"CidrIp":"10.0.0.0/8"}]}`,
			`{"SecurityGroupIngress":[{"IpProtocol":"tcp","FromPort":443,"ToPort":443,"CidrIp":"10.0.0.0/8","Description":"said anew"},{"IpProtocol":"tcp","FromPort":"22","ToPort":"22","CidrIp":"0.0.0.0/0"}],"SecurityGroupEgress":[{"IpProtocol":"-1","CidrIpv6":"::/0"}]}`,
			"+ allow 0.0.0.0/0 | in tcp 22 |  |  broadens public\n+ allow ::/0 | out everything |  |  broadens\n"},
		{"a rule by itself", "AWS::EC2::SecurityGroupIngress", "", `{"GroupId":{"Fn::GetAtt":["Sg","GroupId"]},"IpProtocol":"tcp","FromPort":5432,"ToPort":5439,"SourceSecurityGroupId":{"Ref":"Other"}}`,
			"+ allow ${Other} | in tcp 5432-5439 | ${Sg.GroupId} |  broadens\n"},
		{"a database on the internet", "AWS::RDS::DBInstance", `{"PubliclyAccessible":false}`, `{"PubliclyAccessible":true}`, "+ allow the internet | connections |  |  broadens\n"},
		{"a function's address without authentication", "AWS::Lambda::Url", "", `{"AuthType":"NONE","TargetFunctionArn":"f"}`, "+ allow * | calls without authentication | f |  broadens public\n"},
		{"a bucket that stops keeping the public out", "AWS::S3::Bucket", `{"PublicAccessBlockConfiguration":{"BlockPublicAcls":true}}`, `{}`, "- deny * | BlockPublicAcls |  |  broadens\n"},
		{"a new bucket keeps nobody out who was in", "AWS::S3::Bucket", "", `{"PublicAccessBlockConfiguration":{"BlockPublicAcls":true}}`, ""},
		{"a new bucket that everybody may list", "AWS::S3::Bucket", "", `{"AccessControl":"PublicRead","PublicAccessBlockConfiguration":{"BlockPublicAcls":true}}`, "+ allow * | list objects |  |  broadens public\n"},
		{"a way to the internet", "AWS::EC2::Route", "", `{"DestinationCidrBlock":"0.0.0.0/0","GatewayId":{"Ref":"Igw"},"RouteTableId":{"Ref":"Table"}}`, "+ allow the internet | connections by ${Igw} | ${Table} |  broadens\n"},
		{"a way to the internet for what goes out only", "AWS::EC2::Route", "", `{"DestinationCidrBlock":"0.0.0.0/0","NatGatewayId":{"Ref":"Nat"},"RouteTableId":{"Ref":"Table"}}`, ""},
		{"a key to a user's rights", "AWS::IAM::AccessKey", "", `{"UserName":{"Ref":"User"}}`, "+ allow ${User} | calls with an access key |  |  broadens\n"},
		{"what has no policy", "AWS::SQS::Queue", `{"DelaySeconds":1}`, `{"DelaySeconds":2}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, text(Of(&plan.Plan{Changes: []*plan.Change{change(tt.typ, tt.old, tt.new)}}))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestBroadens(t *testing.T) {
	grant := &plan.Plan{Changes: []*plan.Change{change("AWS::S3::BucketPolicy", "", `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":"a","Action":"s3:Get*","Resource":"b"}]}}`)}}
	if !Broadens(grant) || !Broadens(&plan.Plan{Children: []*plan.Plan{grant}}) {
		t.Error("a grant, here or in a nested stack, broadens")
	}
	if Broadens(&plan.Plan{Changes: []*plan.Change{change("AWS::S3::BucketPolicy", `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":"a","Action":"s3:Get*","Resource":"b"}]}}`, `{}`)}}) {
		t.Error("a revocation does not broaden")
	}
}

// What is secret, or cannot be compared, is not made a rule of.
func TestSecretPropertiesAreLeftOut(t *testing.T) {
	c := change("AWS::SQS::QueuePolicy", `{"PolicyDocument":{"Statement":[]}}`, `{"PolicyDocument":{"Statement":[{"Effect":"Allow","Principal":"s3cret","Action":"a"}]}}`)
	c.Properties[0].NoEcho = true
	if got := Of(&plan.Plan{Changes: []*plan.Change{c}}); len(got) > 0 {
		t.Errorf("got %s", text(got))
	}
}
