package report

import (
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

func TestWhatIsHidden(t *testing.T) {
	const S = "sup3r-s3cret-v4lue"
	tests := []struct {
		name, typ, property, value string
		want                       string // as shown
	}{
		{"a function's variables (G-5.2.13)", "AWS::Lambda::Function", "Environment", `{"Variables":{"A":"` + S + `"}}`, `{"Variables":{"A":(hidden)}}`},
		{"a container's variables", "AWS::ECS::TaskDefinition", "ContainerDefinitions", `[{"Image":"i","Environment":[{"Name":"A","Value":"` + S + `"}]}]`, `[{"Image":"i","Environment":[{"Name":"A","Value":(hidden)}]}]`},
		{"a build's variables, but not its image", "AWS::CodeBuild::Project", "Environment", `{"Image":"i","EnvironmentVariables":[{"Name":"A","Type":"PLAINTEXT","Value":"` + S + `"}]}`,
			`{"Image":"i","EnvironmentVariables":[{"Name":"A","Type":"PLAINTEXT","Value":(hidden)}]}`},
		{"a model's variables", "AWS::SageMaker::Model", "PrimaryContainer", `{"Environment":{"A":"` + S + `"}}`, `{"Environment":{"A":(hidden)}}`},
		{"a master password", "AWS::RDS::DBInstance", "MasterUserPassword", `"` + S + `"`, `(hidden)`},
		{"a secret's text", "AWS::SecretsManager::Secret", "SecretString", `"` + S + `"`, `(hidden)`},
		{"a login's password", "AWS::IAM::User", "LoginProfile", `{"Password":"` + S + `"}`, `{"Password":(hidden)}`},
		{"user data, also as a function", "AWS::EC2::Instance", "UserData", `{"Fn::Base64":"` + S + `"}`, `(hidden)`},
		{"joined with literal pieces", "AWS::RDS::DBInstance", "MasterUserPassword", `{"Fn::Join":["",["` + S + `",{"Ref":"X"}]]}`, `(hidden)`},
		{"an API key", "AWS::ApiGateway::ApiKey", "Value", `"` + S + `"`, `(hidden)`},
		{"parameters of a nested stack", "AWS::CloudFormation::Stack", "Parameters", `{"P":"` + S + `"}`, `{"P":(hidden)}`},
		{"snake and kebab case", "Custom::X", "db_password", `"` + S + `"`, `(hidden)`},
		{"below any property", "Custom::X", "Config", `{"Nested":[{"apiKey":"` + S + `"}]}`, `{"Nested":[{"apiKey":(hidden)}]}`},
		{"a number", "Custom::X", "Password", `123456`, `(hidden)`},
		{"a named value", "Custom::X", "Settings", `[{"Name":"DB_PASSWORD","Value":"` + S + `"}]`, `[{"Name":"DB_PASSWORD","Value":(hidden)}]`},
		{"an access key wherever it stands", "AWS::SQS::Queue", "QueueName", `"use AKIAIOSFODNN7EXAMPLE please"`, `"use (hidden) please"`},
		{"a secret access key", "AWS::SQS::Queue", "QueueName", `"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"`, `(hidden)`},
		{"a GitHub token", "AWS::SQS::Queue", "X", `"ghp_abcdefghijklmnopqrstuvwxyz0123456789"`, `(hidden)`},
		{"a password in a URL", "AWS::SQS::Queue", "X", `"postgres://app:` + S + `@db/shop"`, `"postgres://app:(hidden)@db/shop"`},
		{"a private key", "AWS::SQS::Queue", "X", `"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"`, `(hidden)`},
		{"two secrets in a text", "AWS::SQS::Queue", "X", `"password=` + S + ` token=` + S + `"`, `"password=(hidden) token=(hidden)"`},
		{"a secret in a member's name", "AWS::SQS::Queue", "X", `{"AKIAIOSFODNN7EXAMPLE":1}`, `{(hidden):1}`},

		{"a reference is no secret", "AWS::RDS::DBInstance", "MasterUserPassword", `{"Ref":"DbPassword"}`, `{"Ref":"DbPassword"}`},
		{"a dynamic reference is no secret", "AWS::RDS::DBInstance", "MasterUserPassword", `"{{resolve:secretsmanager:db:SecretString:password}}"`, `"{{resolve:secretsmanager:db:SecretString:password}}"`},
		{"a joined dynamic reference is no secret", "AWS::RDS::DBInstance", "MasterUserPassword", `{"Fn::Join":["",["{{resolve:secretsmanager:",{"Ref":"S"},":SecretString:password::}}"]]}`,
			`{"Fn::Join":["",["{{resolve:secretsmanager:",{"Ref":"S"},":SecretString:password::}}"]]}`},
		{"text around a joined dynamic reference is hidden", "AWS::RDS::DBInstance", "MasterUserPassword", `{"Fn::Join":["",["` + S + `{{resolve:secretsmanager:",{"Ref":"S"},"}}"]]}`, `(hidden)`},
		{"a function's address is no secret", "AWS::CloudFormation::CustomResource", "ServiceToken", `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":lambda:x"]]}`, `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":lambda:x"]]}`},
		{"a unit is no secret", "AWS::Cognito::UserPoolClient", "TokenValidityUnits", `{"IdToken":"minutes"}`, `{"IdToken":"minutes"}`},
		{"a logical id of 40 characters is no secret", "AWS::X::Y", "X", `{"Ref":"IngestFnServiceRoleDefaultPolicy2D066896"}`, `{"Ref":"IngestFnServiceRoleDefaultPolicy2D066896"}`},
		{"a managed policy is no secret", "AWS::X::Y", "X", `":iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"`, `":iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"`},
		{"a header's name is no secret", "AWS::ApiGateway::Method", "X", `{"method.response.header.Access-Control-Allow-Credentials":"'yes'"}`, `{"method.response.header.Access-Control-Allow-Credentials":"'yes'"}`},
		{"a public key is no secret", "AWS::IVS::PlaybackKeyPair", "PublicKeyMaterial", `"x"`, `"x"`},
		{"a switch is no secret", "AWS::RDS::DBInstance", "ManageMasterUserPassword", `true`, `true`},
		{"a length is no secret", "AWS::SecretsManager::Secret", "GenerateSecretString", `{"PasswordLength":32}`, `{"PasswordLength":32}`},
		{"a secret's address is no secret", "AWS::ECS::TaskDefinition", "SecretArn", `"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf"`, `"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf"`},
		{"a digest is no secret", "AWS::Lambda::Function", "Code", `{"S3Key":"0123456789abcdef0123456789abcdef01234567"}`, `{"S3Key":"0123456789abcdef0123456789abcdef01234567"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &redactor{}
			got := unmark(value.JSON(r.property(tt.typ, tt.property, parse(tt.value), false)))
			if got != tt.want {
				t.Errorf("want %s, got %s", tt.want, got)
			}
			if tt.want != got && strings.Contains(got, S) {
				t.Error("and the secret is in it")
			}
		})
	}
}

func TestHiddenValuesAreCompared(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"changed", `{"Variables":{"A":"1","B":"2"}}`, `{"Variables":{"A":"1","B":"3"}}`,
			"- Environment.Variables.B: (hidden)\n+ Environment.Variables.B: (hidden, changed)\n"},
		{"added and removed", `{"Variables":{"A":"1","B":"2"}}`, `{"Variables":{"B":"2","C":"3"}}`,
			"- Environment.Variables.A: (hidden)\n+ Environment.Variables.C: (hidden)\n"},
		{"an entry put in front of a list leaves the others unchanged",
			`[{"Name":"A","Value":"1"},{"Name":"B","Value":"2"}]`, `[{"Name":"Z","Value":"0"},{"Name":"A","Value":"1"},{"Name":"B","Value":"2"}]`,
			"+ Environment[0]: {\"Name\":\"Z\",\"Value\":(hidden)}\n"},
		{"a credential in a text", `"key AKIAIOSFODNN7EXAMPLE"`, `"key AKIAIOSFODNN7EXAMPLF"`,
			"- Environment: \"key (hidden)\"\n+ Environment: \"key (hidden, changed)\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := difference(shownChange(&plan.Change{Type: "AWS::X::Y", Properties: []plan.PropertyChange{changed("Environment", tt.old, tt.new)}}, nil))
			if got != tt.want {
				t.Errorf("want\n%sgot\n%s", tt.want, got)
			}
		})
	}
	p := changed("Anything", `{"a":"one"}`, `{"a":"two"}`)
	p.Secret = true // a NoEcho parameter
	if got := difference(shownChange(&plan.Change{Type: "T", Properties: []plan.PropertyChange{p}}, nil)); got != "- Anything: (hidden)\n+ Anything: (hidden, changed)\n" {
		t.Errorf("NoEcho: got\n%s", got)
	}
}

// What steers a terminal is written out, in JSON without changing its meaning.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines\tand é": "two\nlines\tand é",
		"a\r\nb":            "a\nb",
		"a\rb":              `a\u000db`,
		"\x1b[31mred":       `\u001b[31mred`,
		"\u009b2J":          `\u009b2J`,
		"\u202eolleh":       `\u202eolleh`,
		"no text: \x9b":     "no text: \uFFFD",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestShowValues(t *testing.T) {
	const environment = `{"Variables":{"LEVEL":"debug","KEY":"AKIAIOSFODNN7EXAMPLE","PASSWORD":"sup3r-s3cret-v4lue"}}`
	for _, tt := range []struct {
		show []string
		want string
	}{
		{nil, `{"Variables":{"LEVEL":(hidden),"KEY":(hidden),"PASSWORD":(hidden)}}`},
		{[]string{"Fn:Environment.Variables.LEVEL"}, `{"Variables":{"LEVEL":"debug","KEY":(hidden),"PASSWORD":(hidden)}}`},
		{[]string{"AWS::Lambda::Function:Environment.*.LEVEL"}, `{"Variables":{"LEVEL":"debug","KEY":(hidden),"PASSWORD":(hidden)}}`},
		// What has the form of a credential is hidden all the same.
		{[]string{"Fn:Environment"}, `{"Variables":{"LEVEL":"debug","KEY":(hidden),"PASSWORD":"sup3r-s3cret-v4lue"}}`},
		{[]string{"Other:Environment", "AWS::Lambda::Alias:Environment", "Fn:Environment.Variables.LEVEL.Deeper", "Fn"}, `{"Variables":{"LEVEL":(hidden),"KEY":(hidden),"PASSWORD":(hidden)}}`},
	} {
		c := &plan.Change{LogicalID: "Fn", Type: "AWS::Lambda::Function", Properties: []plan.PropertyChange{{Path: "Environment", HasNew: true, New: parse(environment)}}}
		if got := unmark(value.JSON(shownChange(c, tt.show).Properties[0].New)); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.show, got, tt.want)
		}
		// A value that is known to be a secret is never shown.
		c.Properties[0].NoEcho = true
		if got := unmark(value.JSON(shownChange(c, tt.show).Properties[0].New)); got != "(hidden)" {
			t.Errorf("%q: NoEcho: got %s", tt.show, got)
		}
	}
}

func TestCheckShowValues(t *testing.T) {
	for entry, fine := range map[string]bool{
		"Fn:Environment": true, "AWS::Lambda::Function:Environment.Variables": true, "Outputs:ApiToken": true,
		"": false, "Fn": false, ":Environment": false, "Fn:": false, "AWS::Lambda::Function": false, "Fn:A..B": false, "Fn:*": true,
	} {
		if err := CheckShowValues([]string{entry}); (err == nil) != fine {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// What a step's log shows of a record hides what reports do, and stays JSON.
func TestRecordInALog(t *testing.T) {
	in, err := value.ParseObject([]byte(`{"state":{"resources":{"F":{"resourceType":"AWS::Lambda::Function","physicalId":"f",
		"properties":{"Environment":{"Variables":{"A":"s3cr3t","URL":{"Ref":"Topic"}}},"Timeout":3,"Password":"***"},
		"attributes":{"Arn":"arn:aws:lambda:eu-west-1:123456789012:function:f"}}},
		"outputs":{"DbPassword":"s3cr3t","Url":"https://u:s3cr3t@example.com/"}},"lock":null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"state":{"resources":{"F":{"resourceType":"AWS::Lambda::Function","physicalId":"f",` +
		`"properties":{"Environment":{"Variables":{"A":"(hidden)","URL":{"Ref":"Topic"}}},"Timeout":3,"Password":"***"},` +
		`"attributes":{"Arn":"arn:aws:lambda:eu-west-1:123456789012:function:f"}}},` +
		`"outputs":{"DbPassword":"(hidden)","Url":"https://u:(hidden)@example.com/"}},"lock":null}`
	if got := value.JSON(Record(in)); got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}
