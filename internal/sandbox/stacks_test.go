package sandbox_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/internal/sandbox"
)

func startStacks(t *testing.T, upstream sandbox.Upstream) (*sandbox.Sandbox, *cloudformation.Client) {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, cloudformation.NewFromConfig(once(s))
}

// What CloudFormation refuses of an import, the sandbox refuses.
func TestImportIsChecked(t *testing.T) {
	s, cfn := startStacks(t, sandbox.None)
	if _, err := s.CloudControl.Put("us-east-1", "AWS::Athena::WorkGroup", map[string]any{"Name": "group"}); err != nil {
		t.Fatal(err)
	}
	const good = `{"Resources": {"Group": {"Type": "AWS::Athena::WorkGroup", "DeletionPolicy": "Retain", "Properties": {"Name": "group"}}}}`
	group := types.ResourceToImport{LogicalResourceId: aws.String("Group"), ResourceType: aws.String("AWS::Athena::WorkGroup"), ResourceIdentifier: map[string]string{"Name": "group"}}
	set := func(template string, r ...types.ResourceToImport) (string, error) {
		out, err := cfn.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: aws.String("S"), ChangeSetName: aws.String("set"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: &template, ResourcesToImport: r,
		})
		if err != nil {
			return "", err
		}
		return *out.Id, nil
	}
	other := group
	other.ResourceIdentifier = map[string]string{"WorkGroup": "group"}
	for name, c := range map[string]struct {
		template string
		resource types.ResourceToImport
		want     string
	}{
		"without a policy":        {strings.Replace(good, `"DeletionPolicy": "Retain", `, "", 1), group, "must have DeletionPolicy"},
		"with the wrong key":      {good, other, "must have the keys [Name]"},
		"with an output":          {strings.TrimSuffix(good, "}") + `, "Outputs": {"O": {"Value": "v"}}}`, group, "cannot modify or add [Outputs]"},
		"with something else":     {strings.Replace(good, `{"Group"`, `{"Topic": {"Type": "AWS::SNS::Topic"}, "Group"`, 1), group, "cannot modify or add [Resources]: Topic"},
		"with a loose reference":  {strings.Replace(good, `"group"`, `{"Ref": "Nobody"}`, 1), group, "Unresolved resource dependencies [Nobody]"},
		"of what cannot":          {strings.Replace(good, "AWS::Athena::WorkGroup", "AWS::IAM::Policy", 1), types.ResourceToImport{LogicalResourceId: aws.String("Group"), ResourceType: aws.String("AWS::IAM::Policy"), ResourceIdentifier: map[string]string{"Id": "x"}}, "not supported for Import"},
		"of what is not in it":    {good, types.ResourceToImport{LogicalResourceId: aws.String("Gone"), ResourceType: group.ResourceType, ResourceIdentifier: group.ResourceIdentifier}, "[Gone] to import are not in the template"},
		"with a missing argument": {strings.Replace(good, `"Resources"`, `"Parameters": {"P": {"Type": "String"}}, "Resources"`, 1), group, "[P] must have values"},
	} {
		if _, err := set(c.template, c.resource); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}

	// One that does not exist is found out when it is imported.
	missing := group
	missing.ResourceIdentifier = map[string]string{"Name": "nope"}
	importing(t, cfn, set, good, missing, types.StackStatusImportRollbackComplete)
	importing(t, cfn, set, good, group, types.StackStatusImportComplete)

	// What is in a stack is in no other, and is let go with its policy only.
	if _, err := cfn.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("T"), ChangeSetName: aws.String("set"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(good), ResourcesToImport: []types.ResourceToImport{group},
	}); err == nil || !strings.Contains(err.Error(), "already exists in stack") {
		t.Errorf("in two stacks: %v", err)
	}
	if _, err := cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("S"), TemplateBody: aws.String(good)}); err == nil || !strings.Contains(err.Error(), "No updates are to be performed") {
		t.Errorf("the same again: %v", err)
	}
	if _, err := cfn.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Error(err)
	}
	if k, ok := s.CloudFormation.Stack("us-east-1", "S"); ok {
		t.Errorf("the stack is %s", k.Status)
	}
	if s.CloudControl.Resource("us-east-1", "AWS::Athena::WorkGroup", "group") == nil {
		t.Error("the resource went with the stack")
	}
}

func importing(t *testing.T, cfn *cloudformation.Client, set func(string, ...types.ResourceToImport) (string, error), template string, r types.ResourceToImport, want types.StackStatus) {
	t.Helper()
	id, err := set(template, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: &id}); err != nil {
		t.Fatal(err)
	}
	out, err := cfn.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("S")})
	if err != nil || out.Stacks[0].StackStatus != want {
		t.Fatalf("import of %v: want %s, got %+v, %v", r.ResourceIdentifier, want, out, err)
	}
}

// A stack that moto made is deleted without its resources once each has Retain;
// until then with them.
func TestStackOfMotoIsRetired(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	s, cfn := startStacks(t, sandbox.Moto)
	const template = `{"Resources": {"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "kept"}}}}`
	if _, err := cfn.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("S"), TemplateBody: aws.String(template)}); err != nil {
		t.Fatal(err)
	}
	retained := strings.Replace(template, `"Properties"`, `"DeletionPolicy": "Retain", "Properties"`, 1)
	if _, err := cfn.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("S"), TemplateBody: &retained}); err != nil {
		t.Fatal(err)
	}
	k, ok := s.CloudFormation.Stack("us-east-1", "S")
	if !ok || len(k.Resources) != 1 || k.Resources[0].PhysicalID != "kept" || k.Body != retained {
		t.Fatalf("the stack is %+v", k)
	}
	if _, err := cfn.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Fatal(err)
	}
	if _, err := cfn.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("S")}); err == nil {
		t.Error("the stack is still there")
	}
	// moto has the log group still: it can be imported.
	_, err := cfn.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("New"), ChangeSetName: aws.String("set"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: &retained,
		ResourcesToImport: []types.ResourceToImport{{LogicalResourceId: aws.String("Group"), ResourceType: aws.String("AWS::Logs::LogGroup"), ResourceIdentifier: map[string]string{"LogGroupName": "kept"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfn.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("New"), ChangeSetName: aws.String("set")}); err != nil {
		t.Fatal(err)
	}
	if k, _ := s.CloudFormation.Stack("us-east-1", "New"); k.Status != "IMPORT_COMPLETE" {
		t.Errorf("the import of what was let go is %s: %s", k.Status, k.Reason)
	}
}
