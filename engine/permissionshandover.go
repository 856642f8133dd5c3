package engine

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/permission"
)

// formation adds what is asked of CloudFormation about a stack that comes from it,
// or goes to it.
func (n *needs) formation(t target) error {
	stacks := n.place(t).ARN("cloudformation", "stack/*") // it may have another name there
	both := []string{"cloudformation:DescribeStacks", "cloudformation:ListStackResources", "cloudformation:UpdateStack"}
	switch n.opt.For {
	case permission.Import:
		n.policy.Allow("CloudFormation", append(both, "cloudformation:GetTemplate", "cloudformation:DeleteStack"), stacks)
		n.policy.Allow("", []string{"cloudformation:ListImports", "cloudformation:ListStacks", "tag:GetResources"}, permission.Anything)
	case permission.Export:
		n.policy.Allow("CloudFormation", append(both, "cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet", "cloudformation:ExecuteChangeSet", "cloudformation:DeleteChangeSet"), stacks)
		n.policy.Allow("", []string{"cloudformation:GetTemplateSummary", "cloudformation:ListExports"}, permission.Anything)
		n.note("CloudFormation reads and tags what it imports, and makes anew what it cannot, with the caller's permissions: it does not tell with which")
	default:
		return nil
	}
	// Templates that are too long for a request are put there in passing.
	n.policy.Allow("Templates", []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}, n.bucket+"/cdkd-migrate-tmp/*")
	if n.opt.For == permission.Import || len(t.Nested) == 0 {
		return nil
	}
	files, err := asset.Files(t.Assets, asset.Environment{Stack: t.Name, AccountID: n.account, Region: t.Region})
	for _, f := range files {
		n.policy.Allow("Assets", []string{"s3:GetObject", "s3:PutObject"}, bucketARN(f.Region, f.Bucket)+"/*")
	}
	return err
}

// readsOf are the actions that change nothing.
func readsOf(actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool {
		_, name, _ := strings.Cut(a, ":")
		return !slices.ContainsFunc([]string{"Get", "List", "Describe", "Head", "BatchGet"}, func(verb string) bool { return strings.HasPrefix(name, verb) })
	})
}
