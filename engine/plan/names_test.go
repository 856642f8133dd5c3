package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedNames(t *testing.T) { // T-500, T-509, T-512
	const long = "My_Very_Long_Stack_Name_For_Production_Environment"
	for _, c := range []struct {
		rule, stack, id string
		typ             string
		properties      string
		want            string
	}{
		{"plain (T-500)", "MyStack", "Queue4A7E3555", "AWS::SQS::Queue", `{}`, "MyStack-Queue4A7E3555"},
		{"lower case (T-500)", "MyStack", "Bucket83908E77", "AWS::S3::Bucket", `{}`, "mystack-bucket83908e77"},
		{"cut, with a hash of the unclean name (T-500)", long, "ServiceTaskRole1234ABCD", "AWS::IAM::Role", `{}`, "My-Very-Long-Stack-Name-For-Production-Environment-Serv-6ca7301d"},
		{"cut names of one stack differ (T-500)", long, "AnExtremelyLongLogicalIdThatKeepsGoing0A1B2C3D", "AWS::IAM::Role", `{}`, "My-Very-Long-Stack-Name-For-Production-Environment-AnEx-602134d1"},
		{"a child stack's ~ becomes - (T-501)", "Parent~Child", "TableCD117FA1", "AWS::DynamoDB::Table", `{}`, "Parent-Child-TableCD117FA1"},
		{"32 for load balancers (T-506)", "S", "LoadBalancerWithLongName1234567890", "AWS::ElasticLoadBalancingV2::LoadBalancer", `{}`, "S-LoadBalancerWithLongN-df7ff73e"},
		{"_ and / stay in secret names (T-501)", "S_a/b", "X", "AWS::SecretsManager::Secret", `{}`, "S_a/b-X"},
		{"FIFO queues keep their suffix (T-508)", "MyStack", "Queue", "AWS::SQS::Queue", `{"FifoQueue": true}`, "MyStack-Queue.fifo"},
		{"FIFO given as text (T-508)", "MyStack", "Topic", "AWS::SNS::Topic", `{"FifoTopic": "true"}`, "MyStack-Topic.fifo"},
		{"not FIFO (T-508)", "MyStack", "Queue", "AWS::SQS::Queue", `{"FifoQueue": false}`, "MyStack-Queue"},
		{"a beginning that AWS keeps for itself", "SSM-Stack", "P", "AWS::SSM::Parameter", `{}`, "CFN-SSM-Stack-P"},
		{"a beginning that is kept elsewhere only", "SSM-Stack", "Q", "AWS::SQS::Queue", `{}`, "SSM-Stack-Q"},
		{"a letter comes first where one must (T-508)", "1st", "Db", "AWS::RDS::DBInstance", `{}`, "r1st-db"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := PhysicalName(c.stack, c.id, c.typ, object(t, c.properties))
			if got.Value != c.want || !got.Generated {
				t.Errorf("got %+v, want %q, generated", got, c.want)
			}
		})
	}
	t.Run("the suffix counts in the maximum (T-508)", func(t *testing.T) {
		got := PhysicalName(long, "AVeryLongLogicalIdOfAQueueThatIsFirstInFirstOut", "AWS::SQS::Queue", object(t, `{"FifoQueue": true}`))
		if len(got.Value) != 80 || got.Value[75:] != ".fifo" {
			t.Errorf("got %q, %d long", got.Value, len(got.Value))
		}
	})
	t.Run("no name is over its maximum (T-506)", func(t *testing.T) {
		for typ, r := range names {
			if got := r.Generate(long+long+long+long+long+long+long, long+long+long+long+long+long); len(got) > r.Max {
				t.Errorf("%s: %d", typ, len(got))
			}
		}
	})
}

func TestDeclaredNames(t *testing.T) {
	for _, c := range []struct {
		rule, typ, properties string
		want                  Name
	}{
		{"sent as declared (T-502, T-503)", "AWS::IAM::Role", `{"RoleName": "my-declared_name over-long and odd"}`, Name{Property: "RoleName", Value: "my-declared_name over-long and odd"}},
		{"not known yet", "AWS::IAM::Role", `{"RoleName": {"Ref": "P"}}`, Name{Property: "RoleName"}},
		{"NoValue is not a declaration", "AWS::IAM::Role", `{"RoleName": {"Ref": "AWS::NoValue"}}`, Name{Property: "RoleName", Value: "S-R", Generated: true}},
		{"types outside the table are AWS's to name (T-507)", "AWS::EC2::VPC", `{}`, Name{}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if d := cmp.Diff(c.want, PhysicalName("S", "R", c.typ, object(t, c.properties))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// What is recorded of a resource tells whether its name was declared, generated or left
// to AWS: a name that was generated is not among the properties (T-511).
func TestRecordTellsWhereANameIsFrom(t *testing.T) {
	for _, tt := range []struct{ typ, recorded, want string }{
		{"AWS::SQS::Queue", `{"QueueName": "MyStack-Q", "DelaySeconds": 1}`, "declared"}, // even as it would be generated
		{"AWS::SQS::Queue", `{"DelaySeconds": 1}`, "generated"},
		{"AWS::EC2::VPC", `{"CidrBlock": "10.0.0.0/16"}`, "left to AWS"},
	} {
		n := PhysicalName("MyStack", "Q", tt.typ, object(t, tt.recorded))
		got := "declared"
		switch {
		case n.Generated:
			got = "generated"
		case n.Property == "":
			got = "left to AWS"
		}
		if got != tt.want {
			t.Errorf("%s with %s: the name was %s, want %s", tt.typ, tt.recorded, got, tt.want)
		}
	}
}

func TestLooksGenerated(t *testing.T) {
	for _, c := range []struct {
		rule, id, stack, logicalID string
		want                       bool
	}{
		{"letters and digits agree (T-510)", "mystack-bucket83908e77", "MyStack", "Bucket83908E77", true},
		{"cut, with a hash (T-510)", "My-Very-Long-Stack-Name-For-Production-Environment-Serv-6ca7301d", "My_Very_Long_Stack_Name_For_Production_Environment", "ServiceTaskRole1234ABCD", true},
		{"another name (T-510)", "orders", "MyStack", "Bucket", false},
		{"hash-like end of another name (T-510)", "orders-6ca7301d", "MyStack", "Bucket", false},
		{"nothing before the hash (T-510)", "-6ca7301d", "MyStack", "Bucket", false},
		{"not a hash (T-510)", "My-notahash", "MyStack", "Bucket", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := LooksGenerated(c.id, c.stack, c.logicalID); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
