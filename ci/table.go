package ci

import "slices"

// An Input is one row of [Table]: an input of the Action and a flag of the
// command line.
type Input struct {
	Name string
	// Field points to the field that the input fills. Its type is the input's:
	// string (or a type of it, with Allowed), bool, int, time.Duration,
	// TimeLimit, []string or map[string]string.
	Field       func(*Inputs) any
	Default     string
	Description string
	// Commands it belongs to; none are all.
	Commands []Name
	Allowed  []string
	// The values of secret inputs are never repeated.
	Secret bool
	// Positive numbers and durations must be above zero; others may be zero.
	Positive bool
	// Restricts marks an input that asks for less than the command does. Given
	// to a command that cannot honour it, it is refused rather than ignored.
	Restricts bool
	// ActionOnly inputs are no flags: positional arguments or the command line
	// itself say the same there.
	ActionOnly bool
	// ActionDefault replaces Default in action.yml.
	ActionDefault string
}

var (
	onApp     = []Name{Deploy, Diff, Check, Destroy}
	selects   = []Name{Deploy, Diff, Check, Drift, Destroy, Synth, List, Publish, Scrub, Permissions}
	readApp   = slices.Concat(selects, []Name{OrphanPaths, Import, Export})
	lookAtApp = slices.Concat(readApp, []Name{Doctor})
	onState   = []Name{Deploy, Diff, Check, Drift, Destroy, OrphanPaths, Import, Export, Scrub, Rollback, Bootstrap, GC, StateInfo, StateList, StateShow, StateRows, StateOrphan, StateDestroy, Sweep, StateRefresh, Events, EventsPrune, ForceUnlock, Doctor, Publish, Permissions}
	// accounts can work on the stacks of several accounts at once: the app says which is
	// of which.
	accounts = []Name{Deploy, Diff, Check, Drift, Destroy, OrphanPaths, Import, Export, Scrub, Publish, Synth, List}
	changing = []Name{Deploy, Destroy, Rollback, StateDestroy, Sweep}
)

var table = []Input{
	{Name: "command", Field: func(in *Inputs) any { return &in.Command }, Default: string(Deploy), ActionOnly: true,
		Allowed:     actionCommands(),
		Description: "What to do."},
	{Name: "stacks", Field: func(in *Inputs) any { return &in.Stacks }, ActionOnly: true, Restricts: true,
		Commands:    []Name{Deploy, Diff, Check, Drift, Destroy, OrphanPaths, Import, Export, Scrub, Permissions, Synth, List, Publish, Rollback, StateShow, StateRows, StateOrphan, StateDestroy, Sweep, StateRefresh, Events, EventsPrune, ForceUnlock},
		Description: "The stacks, by name or by pattern with `*`; a pattern with `/` is matched against the stack's path in the app. May be left out when the app has only one; `synth`, `list` and `permissions` then take all."},
	{Name: "all", Field: func(in *Inputs) any { return &in.All }, Default: "false", Commands: slices.Concat(selects, []Name{StateDestroy, StateRefresh, EventsPrune}),
		Description: "Take all stacks of the app; for `drift` without app, `state destroy` and `state refresh-observed`, all that are recorded under the prefix; for `events prune`, the histories of all runs."},
	{Name: "exclusively", Field: func(in *Inputs) any { return &in.Exclusively }, Default: "false", Commands: selects, Restricts: true,
		Description: "Take only the stacks that were named, without those they depend on."},
	{Name: "stack-region", Field: func(in *Inputs) any { return &in.StackRegion }, Commands: []Name{Drift, OrphanPaths, Rollback, StateShow, StateRows, StateOrphan, StateDestroy, StateRefresh, Events, EventsPrune, ForceUnlock}, Restricts: true,
		Description: "The region of the stack's record, where the same name is recorded in several."},

	{Name: "app", Field: func(in *Inputs) any { return &in.App }, Commands: lookAtApp,
		Description: "The directory that holds the app's cloud assembly (`cdk.out`), or the command that runs the app. Without it, `CDKD_APP`, then `app` of `cdk.json`. The Action's image has Node.js and git; what the app needs beyond that, such as its `node_modules`, an earlier step puts into the workspace."},
	{Name: "base-app", Field: func(in *Inputs) any { return &in.BaseApp }, Commands: []Name{Diff},
		Description: "The directory with the cloud assembly of the base branch, relative to working-directory. Where there are no AWS credentials, as on a pull request from a fork, `diff` compares the app's templates with it instead of failing, and says so. With credentials it is not read. See [pull-requests.md](pull-requests.md)."},
	{Name: "context", Field: func(in *Inputs) any { return &in.Context }, Commands: readApp,
		Description: "Context for an app that is run, as `key=value`; it wins over that of the app's files."},
	{Name: "output", Field: func(in *Inputs) any { return &in.Output }, Commands: readApp,
		Description: "Where an app that is run writes its cloud assembly. Without it, `output` of `cdk.json`, then `cdk.out`."},
	{Name: "working-directory", Field: func(in *Inputs) any { return &in.WorkingDirectory }, Default: ".", Commands: lookAtApp,
		Description: "The directory of the app, in which `cdk.json` is looked for and to which `app` is relative."},
	{Name: "synth-timeout", Field: func(in *Inputs) any { return &in.SynthTimeout }, Default: "1h", Commands: readApp, Positive: true,
		Description: "How long one run of the app may take. Then it and everything that it started is ended."},
	{Name: "synth-keep-env", Field: func(in *Inputs) any { return &in.SynthKeepEnv }, Commands: readApp,
		Description: "Variables that the app gets to see although a workflow's tokens, inputs and files are kept from it, such as `GITHUB_TOKEN`; `*` stands for any run of characters. Also for commands that make assets."},
	{Name: "synth-remove-env", Field: func(in *Inputs) any { return &in.SynthRemoveEnv }, Commands: readApp,
		Description: "Further variables to keep from the app, and from commands that make assets."},
	{Name: "synth-credentials", Field: func(in *Inputs) any { return &in.SynthCredentials }, Default: "true", Commands: readApp,
		Description: "Whether the app gets the AWS credentials, as the CDK command line gives them to it. Lookups are made by this program in any case."},
	{Name: "synth-validation", Field: func(in *Inputs) any { return &in.SynthValidation }, Default: "false", Commands: readApp,
		Description: "Let the app validate its own templates, which takes a while."},
	{Name: "strict", Field: func(in *Inputs) any { return &in.Strict }, Default: "false", Commands: readApp,
		Description: "Refuse stacks of which the app reports warnings, too."},
	{Name: "ignore-errors", Field: func(in *Inputs) any { return &in.IgnoreErrors }, Default: "false", Commands: readApp,
		Description: "Go on although the app reports errors. `strict` wins over it."},
	{Name: "parameters", Field: func(in *Inputs) any { return &in.Parameters }, Commands: []Name{Deploy, Diff, Check, Import, Export, Scrub}, Secret: true,
		Description: "Values of template parameters, as `Name=value` for every stack that has the parameter or `Stack:Name=value` for one. A value of several lines needs the form of an object, whose values the function toJSON makes of secrets."},

	{Name: "region", Field: func(in *Inputs) any { return &in.Region }, Commands: slices.Concat(onState, []Name{StateMigrate, Synth, List}),
		Description: "The AWS region of stacks that do not name one; for `state migrate`, the one in the old bucket's name. Without it, `AWS_REGION` or the profile's; where none of them names one, us-east-1, with a warning."},
	{Name: "role-arn", Field: func(in *Inputs) any { return &in.RoleARNs }, Commands: slices.Concat(onState, []Name{StateMigrate, Synth, List}),
		Description: "A role to assume for everything that is done: with the credentials at hand or, where there are none and the job has `id-token: write`, with the job's OIDC token. The session is renewed for as long as the run takes. Several, one a line and of an account each, are for the stacks of an app that is made for [several accounts](apps.md#stacks-of-several-accounts): each stack is worked on with the role of its account, and what names no account with the first."},
	{Name: "state-bucket", Field: func(in *Inputs) any { return &in.StateBucket }, Commands: onState,
		Description: "The S3 bucket that keeps the state. Without it, `CDKD_STATE_BUCKET`, then `context.cdkd.stateBucket` of `cdk.json`, then `cdkd-state-<account>`."},
	{Name: "state-prefix", Field: func(in *Inputs) any { return &in.StatePrefix }, Default: "cdkd", Commands: onState,
		Description: "What the keys in the state bucket begin with."},

	{Name: "dry-run", Field: func(in *Inputs) any { return &in.DryRun }, Default: "false", Commands: []Name{Deploy, Drift, GC, OrphanPaths, Import, Export, Scrub, Sweep, StateMigrate, StateRefresh}, Restricts: true,
		Description: "Say what would be done and write nothing."},
	{Name: "accept", Field: func(in *Inputs) any { return &in.Accept }, Default: "false", Commands: []Name{Drift},
		Description: "Record what is in AWS in place of what was recorded. What the app declares otherwise shows in the next diff."},
	{Name: "revert", Field: func(in *Inputs) any { return &in.Revert }, Default: "false", Commands: []Name{Drift},
		Description: "Update resources in AWS back to what is recorded. What can only be replaced, or was deleted, is left and reported."},
	{Name: "fail", Field: func(in *Inputs) any { return &in.Fail }, Default: "false", Commands: []Name{Diff, Scrub},
		Description: "Exit with 1 when something would change; for `scrub`, when a secret was found."},
	{Name: "yes", Field: func(in *Inputs) any { return &in.Yes }, Default: "false", Commands: slices.Concat(changing, []Name{Bootstrap, GC, OrphanPaths, Import, Export, StateOrphan, StateMigrate, EventsPrune, Drift}),
		Description: "Consent to what would be asked on a terminal. Without a terminal, commands that would ask need it."},
	{Name: "require-approval", Field: func(in *Inputs) any { return &in.RequireApproval }, Default: string(ApprovalNever), Commands: []Name{Deploy},
		Allowed:     []string{string(ApprovalNever), string(ApprovalBroadening), string(ApprovalAnyChange)},
		Description: "What somebody has to agree to before it is carried out: `broadening` is what lets anybody do or reach more, or could lose data, by a delete, a shorter retention or a protection that goes; `any-change` is everything. A terminal asks; a workflow needs approved-plan, require-reviewed-plan or yes, and otherwise ends with the outcome `approval-required`, having changed nothing."},
	{Name: "approved-plan", Field: func(in *Inputs) any { return &in.ApprovedPlan }, Commands: []Name{Deploy}, Restricts: true,
		Description: "The output `plan-digest` of the `diff` that was approved. A deploy that would do anything else ends with the outcome `plan-changed`, having changed nothing."},
	{Name: "require-reviewed-plan", Field: func(in *Inputs) any { return &in.RequireReviewedPlan }, Default: "false", Commands: []Name{Deploy}, Restricts: true,
		Description: "Deploy only what the comment on the pull request said that it would do: the pull request of the event, or the one that brought the commit. Needs the github-token, with `pull-requests: read`, and the same app, working-directory and comment-key as the `diff` that wrote the comment."},
	{Name: "rollback", Field: func(in *Inputs) any { return &in.Rollback }, Default: "true", Commands: []Name{Deploy},
		Description: "Undo a deploy that fails. `false` keeps what was done, for the next deploy to go on from."},
	{Name: "force", Field: func(in *Inputs) any { return &in.Force }, Default: "false", Commands: []Name{Bootstrap, Rollback, StateOrphan, OrphanPaths, Import},
		Description: "For `bootstrap`: put the settings on buckets that were there before, too; with destroy, delete asset storage that is in use. For `rollback`: do not ask, as `yes`; nothing else is overridden. For `state orphan`: do not ask, remove the lock of whoever is at work on the stack, and forget a record that cannot be read, too. For `orphan`: use recorded values where a reference cannot be read. For `import`: record anew what is on record already."},
	{Name: "revert-failed", Field: func(in *Inputs) any { return &in.RevertFailed }, Default: "false", Commands: []Name{Rollback},
		Description: "Also bring back what an operation that failed may have changed, and delete what a failed create left."},
	{Name: "drop-failed", Field: func(in *Inputs) any { return &in.DropFailed }, Commands: []Name{Rollback}, Restricts: true,
		Description: "Logical ids of operations that failed, to take off the latest part of the journal. Nothing is rolled back and AWS is not touched: say so when you have looked after them yourself."},
	{Name: "orphan", Field: func(in *Inputs) any { return &in.Orphan }, Commands: []Name{Rollback}, Restricts: true,
		Description: "Logical ids of resources that the rollback leaves in AWS as they are; those in a nested stack as `Nested/Resource`."},
	{Name: "resource", Field: func(in *Inputs) any { return &in.Resources }, Commands: []Name{StateOrphan, Import}, Restricts: true,
		Description: "Logical ids of the resources to forget; without them, the whole stack. For `import`: the resources to record, as `LogicalId=physical-id`; without them, and without a mapping, all of the stack that can be found."},
	{Name: "resource-mapping", Field: func(in *Inputs) any { return &in.ResourceMapping }, Commands: []Name{Import}, Restricts: true,
		Description: "A file with the resources to import: a JSON object of physical ids by logical id. An object of identifiers in place of an id, as the CDK command line writes it, is taken too."},
	{Name: "resource-mapping-inline", Field: func(in *Inputs) any { return &in.ResourceMappingInline }, Commands: []Name{Import}, Restricts: true,
		Description: "What would be in the file of resource-mapping."},
	{Name: "record-resource-mapping", Field: func(in *Inputs) any { return &in.RecordResourceMapping }, Commands: []Name{Import},
		Description: "A file to write the physical ids to that were found, in the form of resource-mapping, before anybody is asked. With dry-run, too."},
	{Name: "tag", Field: func(in *Inputs) any { return &in.Tags }, Commands: []Name{Import}, Restricts: true,
		Description: "Import the resources that have all of these tags, as `key=value`, or a key alone for any value. Which one each is, the tag logical-id-tag says."},
	{Name: "logical-id-tag", Field: func(in *Inputs) any { return &in.LogicalIDTag }, Commands: []Name{Import}, Restricts: true,
		Description: "The tag whose value is a resource's logical id, or the path of its construct. The default is `aws:cloudformation:logical-id`, which CloudFormation puts on what it makes."},
	{Name: "auto", Field: func(in *Inputs) any { return &in.Auto }, Default: "false", Commands: []Name{Import},
		Description: "Look for the resources, too, that no id was given for and no tag was found of."},
	{Name: "cfn-stack-name", Field: func(in *Inputs) any { return &in.CFNStackName }, Commands: []Name{Import, Export}, Restricts: true,
		Description: "The stack in CloudFormation, where its name is not that of the stack in the app."},
	{Name: "cfn-child-stack-name", Field: func(in *Inputs) any { return &in.CFNChildStackNames }, Commands: []Name{Export}, Restricts: true,
		Description: "What nested stacks are called in CloudFormation, as `LogicalId=name`, or `Parent/LogicalId=name` for one that is nested in a nested one. Others are called like the stack above them, with a dash and the logical id."},
	{Name: "strict-cross-stack", Field: func(in *Inputs) any { return &in.StrictCrossStack }, Default: "false", Commands: []Name{Export},
		Description: "Refuse to export a stack from which others import that are not exported. Without it they find its exports in CloudFormation."},
	{Name: "accept-transient-context", Field: func(in *Inputs) any { return &in.AcceptContext }, Default: "false", Commands: []Name{Export},
		Description: "Export although the app is run with `context`, which `cdk deploy` will not have unless it is given there too."},
	{Name: "migrate-from-cloudformation", Field: func(in *Inputs) any { return &in.FromCloudFormation }, Default: "false", Commands: []Name{Import}, Restricts: true,
		Description: "Take the stack over from CloudFormation, with those nested in it: record everything as it was deployed there, then remove the stack there without its resources. A run that failed or was killed is gone on with by the same command."},
	{Name: "include-non-importable", Field: func(in *Inputs) any { return &in.IncludeNonImportable }, Default: "false", Commands: []Name{Export},
		Description: "Have CloudFormation make anew what it cannot import, such as custom resources, instead of refusing the export. What exists of it is left in AWS."},
	{Name: "pending", Field: func(in *Inputs) any { return &in.Pending }, Commands: []Name{StateOrphan}, Restricts: true,
		Description: "Logical ids of the resources of which to forget what an earlier run left open, or `all`. Their records stay, and nothing in AWS is touched: look first what the operation came to."},
	{Name: "remove-protection", Field: func(in *Inputs) any { return &in.RemoveProtection }, Default: "false", Commands: []Name{Destroy, StateDestroy, Sweep},
		Description: "Destroy stacks that have termination protection, and switch off the deletion protection of resources first."},
	{Name: "skip-final-snapshot", Field: func(in *Inputs) any { return &in.SkipFinalSnapshot }, Default: "false", Commands: changing,
		Description: "Delete resources without the final snapshot that their policy `Snapshot` asks for. Their data is lost."},
	{Name: "purge-events", Field: func(in *Inputs) any { return &in.PurgeEvents }, Default: "false", Commands: []Name{Destroy, Sweep},
		Description: "Delete the history of the runs of a stack that is gone, too."},
	{Name: "ownership-tag", Field: func(in *Inputs) any { return &in.OwnershipTag }, Default: "true", Commands: changing,
		Description: "Give what is created the tag `cdkd-action:create`, which proves which create made it. Without it, less of what a run left that failed, was cancelled or was killed can be told to be the stack's own: see [state.md](state.md#the-ownership-tag)."},
	{Name: "capture-observed-state", Field: func(in *Inputs) any { return &in.CaptureObservedState }, Default: "true", Commands: []Name{Deploy},
		Description: "Read back what resources are like and record it, for `drift` to be told by. Nothing waits for that: what is read while the deploy is under way is recorded with it, and the rest is read after the deploy was reported and its locks are free. Without it, drift is told by what the app declares. `context.cdkd.captureObservedState` of `cdk.json` can switch it off, too."},
	{Name: "skip-assets", Field: func(in *Inputs) any { return &in.SkipAssets }, Default: "false", Commands: []Name{Deploy},
		Description: "Publish no assets; they are known to be in place."},
	{Name: "use-cdk-bootstrap-assets", Field: func(in *Inputs) any { return &in.CDKStorage }, Default: "false", Commands: []Name{Deploy, Diff, Check, Publish, Doctor},
		Description: "Leave assets where the app puts them, which is what `cdk bootstrap` made, although `bootstrap` has made the region asset storage of its own. So does `context.cdkd.useCdkBootstrapAssets` of `cdk.json`."},
	{Name: "auto-asset-storage", Field: func(in *Inputs) any { return &in.MakeStorage }, Default: "false", Commands: []Name{Deploy},
		Description: "Make the asset storage that `bootstrap` makes in a region that has none, when assets of the CDK's bootstrap are to be published there. So does `context.cdkd.autoAssetStorage` of `cdk.json`."},
	{Name: "expand-macros", Field: func(in *Inputs) any { return &in.ExpandMacros }, Default: "true", Commands: []Name{Deploy, Diff, Check, Import, Export},
		Description: "Have CloudFormation expand templates that use macros or SAM, for which a change set is made on an empty stack that is deleted afterwards. `false` refuses such templates."},
	{Name: "allow-unaddressed", Field: func(in *Inputs) any { return &in.AllowUnaddressed }, Default: "false", Commands: []Name{Deploy},
		Description: "Exit with 0 although resources were knowingly left, which is 2 otherwise. They are reported all the same."},
	{Name: "on-partial", Field: func(in *Inputs) any { return &in.OnPartial }, Default: string(PartialFail), Commands: slices.Concat(changing, []Name{Drift, Scrub, StateRefresh, Permissions}),
		Allowed:     []string{string(PartialFail), string(PartialWarn)},
		Description: "What a partial outcome does to the step: `warn` keeps it green; the outputs `outcome` and `exit-code` say `partial` and 2 in any case."},
	{Name: "strict-getatt", Field: func(in *Inputs) any { return &in.StrictGetAtt }, Default: "false", Commands: []Name{Deploy},
		Description: "Fail when a stack output refers to an attribute that cannot be read, instead of warning and leaving it out."},
	{Name: "exports-in-use", Field: func(in *Inputs) any { return &in.ExportsInUse }, Default: string(ExportsRefuse), Commands: []Name{Deploy, Diff, Check},
		Allowed:     []string{string(ExportsRefuse), string(ExportsWarn)},
		Description: "What becomes of a deploy that takes an export away, or changes it, while other recorded stacks import it. `refuse` is what CloudFormation does; `warn` goes on, and those stacks keep the old value until they are deployed."},
	{Name: "cfn-fallback", Field: func(in *Inputs) any { return &in.CFNFallback }, Default: "true", Commands: []Name{Deploy, Diff, Check},
		Description: "Where no recorded stack exports what a stack imports, ask CloudFormation for an export of that name."},
	{Name: "aggressive-vpc-parallel", Field: func(in *Inputs) any { return &in.AggressiveVPC }, Default: "true", Commands: []Name{Deploy, Diff, Check},
		Description: "Start roles, policies and functions before the routes of their VPC are there, although `DependsOn` names them: making them needs no route. `false` keeps the declared order."},
	{Name: "pin-cc-api", Field: func(in *Inputs) any { return &in.PinCCAPI }, Default: "false", Commands: []Name{Deploy, Diff, Check},
		Description: "Keep resources that Cloud Control provisions there, also where they could return to the SDK provider."},
	{Name: "allow-unsupported-types", Field: func(in *Inputs) any { return &in.AllowUnsupportedTypes }, Commands: []Name{Deploy, Diff, Check, Permissions},
		Description: "Resource types to try although they are known not to be supported, such as `AWS::Some::Type`."},
	{Name: "allow-unsupported-properties", Field: func(in *Inputs) any { return &in.AllowUnsupportedProperties }, Commands: []Name{Deploy, Diff, Check, Permissions},
		Description: "Properties that the SDK provider may leave out instead of handing the resource to Cloud Control, as `AWS::Some::Type:Property`."},
	{Name: "replace", Field: func(in *Inputs) any { return &in.Replace }, Default: "false", Commands: []Name{Deploy, Diff, Check},
		Description: "Where a resource has to be replaced and the new one would have the name of the old one, delete the old one first. It is gone until the new one is there. Without this, the replacement is refused."},
	{Name: "force-stateful-recreation", Field: func(in *Inputs) any { return &in.LoseData }, Commands: []Name{Deploy, Diff, Check},
		Description: "Resources that hold data and may be replaced or recreated all the same, by logical id, or `true` for all. **Their data is lost.** Those of a nested stack, or of one of several stacks, are named as `Stack:LogicalID`, with `Stack~Child` for a nested stack."},
	{Name: "recreate", Field: func(in *Inputs) any { return &in.Recreate }, Commands: []Name{Deploy, Diff, Check},
		Description: "Resources to delete and make again, whether or not they change, named as for force-stateful-recreation."},
	{Name: "recreate-via-cc-api", Field: func(in *Inputs) any { return &in.RecreateViaCC }, Commands: []Name{Deploy, Diff, Check},
		Description: "Resources to delete and make again through Cloud Control, where they change at all; recreate does it where they do not."},
	{Name: "recreate-via-sdk-provider", Field: func(in *Inputs) any { return &in.RecreateViaSDK }, Commands: []Name{Deploy, Diff, Check},
		Description: "Resources to delete and make again through the SDK, where they change at all; recreate does it where they do not. It is how one that Cloud Control made comes back."},

	{Name: "wait", Field: func(in *Inputs) any { return &in.Wait }, Default: string(WaitDefault), Commands: []Name{Deploy},
		Allowed:     []string{string(WaitNone), string(WaitDefault), string(WaitFull)},
		Description: "Which resources to wait for until they are ready: `default` waits where something in the deploy needs it or where failure shows, such as for instances, NAT gateways, databases, load balancers and certificates; `none` does not wait for these; `full` also waits for ECS services to be steady and for CloudFront distributions to be deployed. What is not waited for is listed at the end, with a command that shows its state. Where the deploy could not go on, and for what Cloud Control makes, each of them waits."},
	{Name: "lock-wait", Field: func(in *Inputs) any { return &in.LockWait }, Default: "0s", Commands: []Name{Deploy, Rollback, Scrub},
		Description: "How long to keep trying for a lock that somebody else holds, beyond the few seconds that are always tried, such as `10m`."},
	{Name: "resource-timeout", Field: func(in *Inputs) any { return &in.ResourceTimeout }, Default: "30m", Commands: slices.Concat(changing, []Name{Drift}), Positive: true,
		Description: "How long one operation on one resource may take. Types that are known to be slow, such as databases, and custom resources have an hour at least; `AWS::Some::Type=2h`, on a line of its own, is exact."},
	{Name: "recycle-handlers", Field: func(in *Inputs) any { return &in.RecycleHandlers }, Default: "false", Commands: changing,
		Description: "The handler of a custom resource that failed because it was denied something is invoked again, as its permissions may not have spread: twice, or as often as `CDKD_CR_AUTHZ_MAX_RETRIES` says (0 to 10). With this, the description of its function is changed before and put back afterwards, so that it starts with new credentials."},
	{Name: "concurrency", Field: func(in *Inputs) any { return &in.Concurrency }, Commands: slices.Concat(changing, []Name{Drift}), Positive: true,
		Description: "How many resources are worked on at once, those of all stacks together. By default 10 of each AWS service, and 64 in all; for `drift`, 4 of each stack."},
	{Name: "stack-concurrency", Field: func(in *Inputs) any { return &in.StackConcurrency }, Default: "4", Commands: slices.Concat(onApp, []Name{StateDestroy, Sweep}), Positive: true,
		Description: "How many independent stacks are worked on at once."},

	{Name: "asset-publish-concurrency", Field: func(in *Inputs) any { return &in.AssetPublishConcurrency }, Default: "8", Commands: []Name{Deploy, Publish}, Positive: true,
		Description: "How many assets are published at once."},
	{Name: "image-build-concurrency", Field: func(in *Inputs) any { return &in.ImageBuildConcurrency }, Default: "4", Commands: []Name{Deploy, Publish}, Positive: true,
		Description: "How many images are built at once."},

	{Name: "github-token", Field: func(in *Inputs) any { return &in.GitHubToken }, Secret: true, ActionOnly: true,
		ActionDefault: "${{ github.token }}",
		Description:   "The token that writes the pull request comment, for which it needs `pull-requests: write`, and reads the reviewed plan. Without the permission the report is in the step summary only."},
	{Name: "comment", Field: func(in *Inputs) any { return &in.Comment }, Default: string(CommentUpdate), ActionOnly: true,
		Commands: slices.Concat(onApp, []Name{Drift}), Allowed: []string{string(CommentUpdate), string(CommentRepost), string(CommentChanges), string(CommentOff)},
		Description: "What a run for a pull request says there: `update` keeps one comment up to date; `repost` folds the one of the run before away and writes a new one, at the end of the conversation; `changes` is `update`, but writes no first comment while nothing changes; `off` says nothing. The jobs of a matrix share one comment, with a section for each."},
	{Name: "show-values", Field: func(in *Inputs) any { return &in.ShowValues }, Commands: slices.Concat(onApp, []Name{Drift}),
		Description: "Values to show in reports although they stand where secrets often do, such as in a function's environment: as `LogicalId:Environment.Variables.LOG_LEVEL`, with a resource type or `Outputs` in place of the logical id, and `*` for any one name. What is known to be a secret, or looks like a credential, stays hidden."},
	{Name: "plan-file", Field: func(in *Inputs) any { return &in.PlanFile }, Commands: onApp,
		Description: "A file for the whole report: as JSON when its name ends in `.json`, else as Markdown. It is relative to the workspace, and a step after this one can upload it."},
	{Name: "environment", Field: func(in *Inputs) any { return &in.Environment }, ActionOnly: true, Commands: []Name{Deploy},
		Description: "An environment of the repository, to which GitHub then shows a deployment of the commit. Needs `deployments: write`. A job that names an `environment` of its own has a deployment without this."},
	{Name: "environment-url", Field: func(in *Inputs) any { return &in.EnvironmentURL }, ActionOnly: true, Commands: []Name{Deploy},
		Description: "Where to see what was deployed to the environment: an address, or `Stack.Output` for the output that holds it."},
	{Name: "comment-key", Field: func(in *Inputs) any { return &in.CommentKey }, ActionOnly: true, Commands: slices.Concat(onApp, []Name{Drift}),
		Description: "Keeps a comment of its own for steps that have this key, where several steps work on one app for the same pull request."},
	{Name: "drift-issues", Field: func(in *Inputs) any { return &in.DriftIssues }, Default: "false", ActionOnly: true, Commands: []Name{Drift},
		Description: "Keep an issue for each stack that has drifted: opened when drift is found, kept up to date, and closed when the stack is as recorded again. Needs `issues: write`."},

	{Name: "assets", Field: func(in *Inputs) any { return &in.Assets }, Default: "true", Commands: []Name{Bootstrap},
		Description: "Make a bucket and a repository for assets in the region, too. Assets of the CDK's bootstrap then go there, and templates are changed to name it; use-cdk-bootstrap-assets leaves them."},
	{Name: "asset-bucket", Field: func(in *Inputs) any { return &in.AssetBucket }, Commands: []Name{Bootstrap},
		Description: "The bucket for assets. Without it, the region's, or `cdkd-assets-<account>-<region>`."},
	{Name: "container-repo", Field: func(in *Inputs) any { return &in.ContainerRepo }, Commands: []Name{Bootstrap},
		Description: "The repository for image assets. Without it, the region's, or `cdkd-container-assets-<account>-<region>`."},
	{Name: "destroy", Field: func(in *Inputs) any { return &in.Dismantle }, Default: "false", Commands: []Name{Bootstrap},
		Description: "Delete the region's bucket and repository for assets, with everything in them. Refused while a record mentions one, unless forced. What another state bucket of the account has as its asset storage, too, stays, unless forced."},
	{Name: "include-state-bucket", Field: func(in *Inputs) any { return &in.IncludeStateBucket }, Default: "false", Commands: []Name{Bootstrap},
		Description: "With destroy, delete the state bucket, too. Refused while any stack is recorded in it, or another region has asset storage."},
	{Name: "no-other-state-bucket", Field: func(in *Inputs) any { return &in.NoOtherStateBucket }, Default: "false", Commands: []Name{GC, Bootstrap},
		Description: "Say that none of the account's buckets that this role may not look into is a state bucket whose stacks use the region's asset storage. Without it `gc`, and `bootstrap` with destroy, refuse where there is such a bucket."},
	{Name: "legacy-bucket", Field: func(in *Inputs) any { return &in.LegacyBucket }, Commands: []Name{StateMigrate}, Restricts: true,
		Description: "The bucket to copy from. Without it, `cdkd-state-<account>-<region>`."},
	{Name: "new-bucket", Field: func(in *Inputs) any { return &in.NewBucket }, Commands: []Name{StateMigrate}, Restricts: true,
		Description: "The bucket to copy to. Without it, `cdkd-state-<account>`."},
	{Name: "remove-legacy", Field: func(in *Inputs) any { return &in.RemoveLegacy }, Default: "false", Commands: []Name{StateMigrate},
		Description: "Delete the old bucket when the new one has everything that is in it."},
	{Name: "for", Field: func(in *Inputs) any { return &in.For }, Default: "deploy", Commands: []Name{Permissions},
		Allowed:     []string{"plan", "deploy", "destroy", "drift", "import", "export"},
		Description: "What the permissions are for. Those of `deploy` include those of `plan`, `destroy` and `drift`; those of `drift` only read, and `accept` and `revert` take those of `deploy`; those of `import` and `export` have what is asked of CloudFormation besides."},
	{Name: "check", Field: func(in *Inputs) any { return &in.CheckCaller }, Default: "false", Commands: []Name{Permissions},
		Description: "Ask IAM which of the permissions the caller lacks. It does not tell what an organization's policies deny."},
	{Name: "run", Field: func(in *Inputs) any { return &in.Run }, Commands: []Name{Events}, Restricts: true,
		Description: "The id of the run to show; `events` without it lists them, and the output `run-id` is that of a run."},
	{Name: "keep", Field: func(in *Inputs) any { return &in.Keep }, Commands: []Name{EventsPrune}, Restricts: true, Positive: true,
		Description: "How many of the latest runs' histories stay. With older-than, only what neither keeps is deleted."},
	{Name: "older-than", Field: func(in *Inputs) any { return &in.OlderThan }, Commands: []Name{EventsPrune, GC}, Restricts: true, Positive: true,
		Description: "Delete only the histories of runs that began longer ago than this; for `gc`, assets that are there longer, `30d` without it."},

	{Name: "show-nested", Field: func(in *Inputs) any { return &in.ShowNested }, Default: "false", Commands: []Name{StateShow},
		Description: "Show the stacks that are nested in the stack, too."},
	{Name: "show-dependencies", Field: func(in *Inputs) any { return &in.ShowDependencies }, Default: "false", Commands: []Name{List},
		Description: "Say of each stack which others come before it. The JSON form always does."},
	{Name: "long", Field: func(in *Inputs) any { return &in.Long }, Default: "false", Commands: []Name{List, StateList, StateRows},
		Description: "Say more of each: of an app's stacks where they go; of recorded stacks how many resources they have, when they were saved and who holds the lock; of resources what they depend on, and their attributes."},
	{Name: "tree", Field: func(in *Inputs) any { return &in.Tree }, Default: "false", Commands: []Name{StateList},
		Description: "Show nested stacks below those that they are nested in."},
	{Name: "json", Field: func(in *Inputs) any { return &in.JSON }, Default: "false", Commands: []Name{Deploy, Diff, Check, Drift, Destroy, OrphanPaths, Import, Export, Scrub, Synth, List, Publish, Rollback, Bootstrap, GC, StateInfo, StateList, StateShow, StateRows, StateOrphan, StateDestroy, Sweep, StateMigrate, StateRefresh, Events, EventsPrune, ForceUnlock, Doctor, Permissions},
		Description: "Print the result as JSON, and nothing else, to standard output."},
	{Name: "progress", Field: func(in *Inputs) any { return &in.Progress }, Default: string(ProgressAuto), Commands: slices.Concat(changing, []Name{Drift}),
		Allowed:     []string{string(ProgressAuto), string(ProgressPlain)},
		Description: "How the log shows what is under way: `auto` keeps a table of it below the log where standard error is a terminal; `plain` writes lines only, as it is done everywhere else: in a workflow, into a file or a pipe, with `json`, and where `TERM` is `dumb`."},
	{Name: "verbose", Field: func(in *Inputs) any { return &in.Verbose }, Default: "false",
		Description: "Log what is decided and why, and every request to AWS."},
}

// Table returns the table of inputs.
func Table() []Input { return slices.Clone(table) }

// Of tells whether the input belongs to the command.
func (i Input) Of(c Name) bool { return len(i.Commands) == 0 || slices.Contains(i.Commands, c) }
