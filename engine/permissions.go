package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// PermissionsOptions say for what.
type PermissionsOptions struct {
	Selection
	For    permission.Purpose
	Router provider.RouterOptions
	Check  bool // ask IAM what of it the caller lacks
}

// Permissions are what stacks need.
type Permissions struct {
	Documents []*value.Object // IAM policies
	Notes     []string        // what is wider than it could be, and why
	Unknown   []string        // what is not in the policies, because nobody told
	// Caller is whose permissions were checked, and Missing what they lack, as
	// action and resource.
	Caller  string
	Missing []string
}

// Permissions collects the least that the selected stacks need. Of AWS it asks
// only what the handlers of types need that Cloud Control makes: the embedded
// schemas do not tell.
func (e *Engine) Permissions(ctx context.Context, opt PermissionsOptions) (*Permissions, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	opt.All = opt.All || len(opt.Patterns) == 0
	sel, err := e.selectStacks(opt.Selection, nil)
	if err != nil {
		return nil, err
	}
	n := &needs{e: e, opt: opt}
	if n.account, err = e.account(ctx); err != nil {
		n.account = permission.Anything
		n.note("the account is not known without credentials, so ARNs are of any")
	} else if err := n.leaveOut(sel); err != nil {
		return nil, err
	}
	n.state(ctx)
	if store, err := e.open(ctx); err != nil {
		n.note("whether the regions have asset storage of cdkd's own could not be told, so assets go where the app puts them")
	} else if err := e.redirect(ctx, sel, store, false); err != nil {
		return nil, err
	}
	for _, t := range sel.targets {
		if err := n.stack(ctx, t); err != nil {
			return nil, err
		}
	}
	if slices.Contains(n.passed, permission.Anything) {
		n.passed = []string{permission.Anything}
	}
	n.policy.Allow("PassRole", []string{"iam:PassRole"}, n.passed...)
	if opt.For == permission.Destroy || opt.For == permission.Drift {
		n.note("resources that are recorded and not in the app any more are not counted")
	}
	out := &Permissions{Documents: n.policy.Documents(), Notes: n.notes, Unknown: n.unknown}
	if len(out.Documents) > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("one managed policy would be too long; attach all %d", len(out.Documents)))
	}
	if opt.Check {
		out.Caller, out.Missing, err = e.lacking(ctx, n.policy.Statements())
	}
	return out, err
}

// leaveOut takes the stacks of other accounts out of those selected: what a policy
// of this account says of its own ARNs would be wrong for them. Where that leaves
// none, they are refused.
func (n *needs) leaveOut(sel *selected) error {
	var ours []target
	for _, t := range sel.targets {
		if t.elsewhere(n.account) {
			n.note("stack %s is for account %s and not counted: ask again with credentials of that account", t.Name, t.account)
		} else {
			ours = append(ours, t)
		}
	}
	if ours == nil {
		return sel.inAccount(n.account, nil)
	}
	sel.targets = ours
	return nil
}

// needs is what is collected.
type needs struct {
	e              *Engine
	opt            PermissionsOptions
	account        string
	policy         permission.Policy
	notes, unknown []string
	bucket         string   // the ARN of the state bucket
	responses      string   // where custom resources' answers arrive
	passed         []string // roles
}

func (n *needs) note(format string, args ...any) {
	n.notes = add(n.notes, fmt.Sprintf(format, args...))
}

func bucketARN(region, bucket string) string {
	return "arn:" + partition.Of(region) + ":s3:::" + bucket
}

// state adds what the state bucket's objects need.
func (n *needs) state(ctx context.Context) {
	region := n.e.defaultRegion()
	choice, err := state.Resolve(ctx, n.e.config.AWS, n.e.config.Bucket, n.e.account)
	if err != nil {
		choice.Bucket = state.DefaultBucket(n.account)
		n.note("the state bucket was not found, so its default name stands for it: %s", choice.Bucket)
	}
	bucket := bucketARN(region, choice.Bucket)
	objects := []string{bucket + "/" + n.e.config.Prefix + "/*", bucket + "/_cdkd-registry/*"}
	reads, lists := []string{"s3:GetObject"}, []string{"s3:ListBucket", "s3:GetBucketLocation"}
	if n.opt.For != permission.Plan && n.opt.For != permission.Drift {
		reads = append(reads, "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion")
		lists = append(lists, "s3:ListBucketVersions")
	}
	n.policy.Allow("State", reads, objects...)
	n.policy.Allow("StateBucket", lists, bucket)
	if !n.e.config.CDKStorage {
		n.policy.Allow("AssetMarkers", []string{"s3:GetObject"}, bucket+"/cdkd-bootstrap/*")
	}
	n.bucket, n.responses = bucket, bucket+"/custom-resource-responses/*"
}

func (n *needs) stack(ctx context.Context, t target) error {
	if n.opt.For == permission.Deploy {
		if err := n.assets(t); err != nil {
			return err
		}
	}
	if err := n.formation(t); err != nil {
		return err
	}
	router := provider.NewRouter(n.opt.Router, nil, nil, map[string]provider.Provider{nestedType: &nested{}}, awssdk.Resources())
	if n.opt.For == permission.Deploy && declaresNames(router, t) { // the first one asks whether it is CloudFormation's
		n.policy.Allow("Stacks", []string{"cloudformation:DescribeStacks"}, n.place(t).ARN("cloudformation", "stack/"+t.Name+"/*"))
	}
	return eachTemplate(t, func(t target) error {
		return n.template(ctx, t, router)
	})
}

// eachTemplate calls do for a stack and for those nested in it.
func eachTemplate(t target, do func(target) error) error {
	if err := do(t); err != nil {
		return err
	}
	for _, id := range sortedKeys(t.Nested) {
		if err := eachTemplate(t.child(nil, id, t.Nested[id], nil, nil), do); err != nil {
			return err
		}
	}
	return nil
}

func (n *needs) template(ctx context.Context, t target, router *provider.Router) error {
	if t.Template == nil {
		return nil
	}
	if macros := t.Template.Macros(); macros != nil {
		n.unknown = add(n.unknown, fmt.Sprintf("what stack %s needs once its macros (%s) are expanded", t.Name, strings.Join(macros, ", ")))
		if n.opt.For != permission.Drift {
			n.policy.Allow("Macros", []string{"cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet", "cloudformation:GetTemplate", "cloudformation:DeleteStack"},
				n.place(t).ARN("cloudformation", "stack/cdkd-macro-expand-*"))
		}
	}
	if n.opt.For != permission.Drift { // which goes by what is recorded
		n.policy.References(t.Template)
	}
	cloud, read := map[string]bool{}, map[string]bool{}
	for _, r := range t.Template.Resources {
		decision, err := router.Route(provider.Want{LogicalID: r.LogicalID, Type: r.Type, Properties: r.Properties})
		switch {
		case err != nil:
			n.unknown = add(n.unknown, fmt.Sprintf("%s of stack %s: %v", r.LogicalID, t.Name, err))
		case isCustom(r.Type):
			n.custom(t, r)
		case decision.Provider == nil && decision.Route.ProvisionedBy != state.ByCloudControl, decision.Direct:
		case decision.Route.ProvisionedBy == state.ByCloudControl:
			cloud[r.Type] = true
		default:
			n.sdk(r)
			if driver, ok := decision.Provider.(*provider.Driver); ok && driver.Resource().Read == nil {
				read[r.Type] = true
			}
		}
		if err == nil && n.opt.For == permission.Deploy {
			n.policy.Dependent(r.Type, r.Properties)
		}
		if n.opt.For != permission.Plan && n.opt.For != permission.Drift && (r.DeletionPolicy == "Snapshot" || r.UpdateReplacePolicy == "Snapshot") {
			n.policy.Allow("", awssdk.SnapshotActions(r.Type), permission.Anything)
		}
	}
	n.handlers(ctx, t.Region, cloud)
	n.readers(ctx, t.Region, read)
	if n.opt.For == permission.Deploy {
		n.roles(t)
	}
	return nil
}

func (n *needs) place(t target) permission.Place {
	return permission.Place{Stack: t.Name, Partition: partition.Of(t.Region), Region: t.Region, AccountID: n.account}
}

func (n *needs) sdk(r *template.Resource) {
	actions, _ := awssdk.ActionsOf(r.Type)
	switch n.opt.For {
	case permission.Plan, permission.Export:
		n.policy.Allow("", actions.Plan, permission.Anything)
	case permission.Import, permission.Drift:
		n.policy.Allow("", readsOf(actions.Deploy), permission.Anything)
	case permission.Destroy:
		n.policy.Allow("", actions.Destroy, permission.Anything)
	default:
		n.policy.Allow("", actions.Deploy, permission.Anything)
	}
}

func (n *needs) roles(t target) {
	arns, untold := permission.Roles(t.Template, n.place(t))
	if untold != nil {
		n.note("the roles that stack %s names at %s are not known before a deploy, so any may be passed", t.Name, strings.Join(untold, ", "))
		arns = []string{permission.Anything}
	}
	n.passed = add(n.passed, arns...)
}

// custom adds what a custom resource's handler is asked by.
func (n *needs) custom(t target, r *template.Resource) {
	if n.opt.For != permission.Deploy && n.opt.For != permission.Destroy {
		return
	}
	n.policy.Allow("Responses", []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}, n.responses)
	invoke := []string{"lambda:InvokeFunction", "lambda:GetFunctionConfiguration", "lambda:UpdateFunctionConfiguration"}
	token := r.Properties.Value("ServiceToken")
	if text, ok := token.(string); ok && strings.Contains(text, ":sns:") {
		n.policy.Allow("Topics", []string{"sns:Publish"}, text)
		return
	} else if ok && strings.HasPrefix(text, "arn:") {
		n.policy.Allow("Handlers", invoke, text, text+":*")
		return
	}
	name := ""
	if o, ok := token.(*value.Object); ok {
		function, arg, _ := o.Sole()
		list, _ := arg.([]any)
		if id, isText := arg.(string); isText {
			list = []any{strings.TrimSuffix(id, ".Arn")}
		}
		if len(list) > 0 && (function == "Fn::GetAtt" || function == "Ref") {
			id, _ := list[0].(string)
			if handler := t.Template.Resource(id); handler != nil && handler.Type == "AWS::Lambda::Function" {
				name = plan.PhysicalName(t.Name, id, handler.Type, handler.Properties).Value
			} else if handler != nil && handler.Type == "AWS::SNS::Topic" {
				n.policy.Allow("Topics", []string{"sns:Publish"}, permission.Anything)
				return
			}
		}
	}
	if name == "" {
		n.note("the handler of %s in stack %s is not known before a deploy, so any function may be invoked", r.LogicalID, t.Name)
		n.policy.Allow("", invoke, permission.Anything)
		return
	}
	arn := n.place(t).ARN("lambda", "function:"+name)
	n.policy.Allow("Handlers", invoke, arn, arn+":*")
}

// assets adds what publishing needs.
func (n *needs) assets(t target) error {
	env := asset.Environment{Stack: t.Name, AccountID: n.account, Region: t.Region}
	files, err := asset.Files(t.Assets, env)
	if err != nil {
		return err
	}
	images, err := asset.Images(t.Assets, env)
	if err != nil {
		return err
	}
	for _, f := range files {
		n.policy.Allow("Assets", []string{"s3:GetObject", "s3:PutObject"}, bucketARN(f.Region, f.Bucket)+"/*")
		n.policy.Allow("AssetBucket", []string{"s3:ListBucket", "s3:GetBucketLocation"}, bucketARN(f.Region, f.Bucket))
	}
	for _, i := range images {
		n.policy.Allow("", []string{"ecr:GetAuthorizationToken"}, permission.Anything) // it has no resource
		n.policy.Allow("Images", []string{"ecr:DescribeImages", "ecr:DescribeRepositories", "ecr:BatchCheckLayerAvailability", "ecr:InitiateLayerUpload", "ecr:UploadLayerPart", "ecr:CompleteLayerUpload", "ecr:PutImage"},
			permission.Place{Partition: partition.Of(i.Region), Region: i.Region, AccountID: n.account}.ARN("ecr", "repository/"+i.Repository))
	}
	return nil
}

// A SimulationError says that the caller's permissions could not be checked.
type SimulationError struct{ Err error }

func (e *SimulationError) Error() string {
	return fmt.Sprintf("find out what the caller lacks: %v", e.Err)
}

func (e *SimulationError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *SimulationError) Remedy() string {
	return "allow iam:SimulatePrincipalPolicy (and iam:GetRole, for a role with a path) on the role, or leave out check"
}

// lacking asks IAM which actions of statements the caller may not do. What an
// organization's or a session's policies deny, IAM does not tell here.
func (e *Engine) lacking(ctx context.Context, statements []permission.Statement) (caller string, missing []string, err error) {
	identity, err := e.callerIdentity(ctx)
	if err != nil {
		return "", nil, &CredentialsError{Err: err}
	}
	client := provider.Client(e.session(e.defaultRegion()).provider, iam.NewFromConfig)
	caller = aws.ToString(identity.Arn)
	if strings.HasSuffix(caller, ":root") {
		return caller, nil, nil // who may do everything
	}
	// arn:aws:sts::123456789012:assumed-role/NAME/SESSION, without the role's path.
	if before, rest, ok := strings.Cut(caller, ":assumed-role/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		caller = strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + name
		if role, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &name}); err == nil {
			caller = aws.ToString(role.Role.Arn)
		}
	}
	for _, s := range statements {
		pages := iam.NewSimulatePrincipalPolicyPaginator(client, &iam.SimulatePrincipalPolicyInput{
			PolicySourceArn: &caller, ActionNames: s.Actions, ResourceArns: s.Resources,
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return caller, missing, &SimulationError{err}
			}
			for _, r := range page.EvaluationResults {
				if r.EvalDecision != iamtypes.PolicyEvaluationDecisionTypeAllowed {
					missing = add(missing, aws.ToString(r.EvalActionName)+" on "+aws.ToString(r.EvalResourceName))
				}
			}
		}
	}
	slices.Sort(missing)
	return caller, missing, nil
}
