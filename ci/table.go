package ci

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Command is one row of [Commands].
type Command struct {
	Name        Name
	Alias       string // another last word of the name, on the command line
	Description string
	// MinStacks and MaxStacks bound how many stacks can be named; a MaxStacks
	// of -1 is no bound.
	MinStacks, MaxStacks int
	// Takes is what is named in place of stacks, "" for stacks.
	Takes string
	// Consent, when not "", is what the command does that needs a yes.
	Consent string
	// asks, when set, tells when that is; nil is always.
	asks func(*Inputs) bool
	// refuse, when set, finds what no single input shows; "" is nothing.
	refuse func(*Inputs) (input, want string)
	// TerminalOnly commands cannot be the Action's input "command".
	TerminalOnly bool
}

// Commands are all commands, in the order in which they are listed to people.
var commands = []Command{
	{Name: Deploy, MaxStacks: -1,
		Description: "Bring stacks to what the app describes. A failed deploy is rolled back."},
	{Name: Diff, MaxStacks: -1,
		Description: "Show what a deploy would do, property by property. Writes nothing to AWS."},
	{Name: Check, MaxStacks: -1,
		Description: "Compare what a deploy would do with what the comment on the pull request said it would, and change nothing: in a merge queue, or before a deploy. A difference is the outcome `plan-changed`."},
	{Name: Drift, MaxStacks: -1, Consent: "changes resources, or what is recorded of them",
		Description: "Compare what is recorded of stacks with what AWS says of their resources, property by property. Exits with 1 when something has drifted, and with 2 when something could not be compared that should have been. Stacks that are named, or all, are those that are recorded, without the app, unless app is given. With `accept` or `revert`, bring the two together.",
		asks:        func(in *Inputs) bool { return (in.Accept || in.Revert) && !in.DryRun },
		refuse: func(in *Inputs) (string, string) {
			if in.Accept && in.Revert {
				return "revert", "give either accept or revert, not both"
			}
			if in.DryRun && !in.Accept && !in.Revert {
				return "dry-run", "it is for accept or revert; without these nothing is written"
			}
			return "", ""
		}},
	{Name: Destroy, MaxStacks: -1, Consent: "deletes the resources of the stacks",
		Description: "Delete the resources of stacks and what is recorded of them."},
	{Name: Synth, MaxStacks: -1,
		Description: "Run the app, answer what it asks, and refuse what a deploy would refuse without asking AWS. Prints the template of a single stack, else lists the stacks."},
	{Name: List, MaxStacks: -1,
		Description: "List the stacks of the app, each after those that it depends on. The outputs `matrix` and `waves` are made for a matrix of jobs."},
	{Name: Publish, MaxStacks: -1,
		Description: "Publish the files and images of stacks that are not in place yet, and change nothing else."},
	{Name: Rollback, MaxStacks: 1, Consent: "changes resources back and deletes those that were created",
		Description: "Undo what failed and interrupted deploys of a stack did, back to the last one that succeeded.",
		asks:        func(in *Inputs) bool { return !in.Force && len(in.DropFailed) == 0 },
		refuse: func(in *Inputs) (string, string) {
			if len(in.DropFailed) > 0 && (in.RevertFailed || len(in.Orphan) > 0) {
				return "drop-failed", "it only edits the journal; give revert-failed and orphan to a rollback of their own"
			}
			return "", ""
		}},
	{Name: OrphanPaths, Takes: "PATH", MinStacks: 1, MaxStacks: -1, Consent: "forgets what is recorded of resources",
		Description: "Forget the resources of constructs, named by their paths in the app such as `Shop/Orders`, and leave them in AWS as they are. What else is recorded and refers to them gets their values.",
		asks:        func(in *Inputs) bool { return !in.DryRun }},
	{Name: Import, MaxStacks: 1, Consent: "records resources as the stack's own",
		Description: "Record resources that exist in AWS as a stack's own, without touching them: those that are named, or all of the stack that can be found. See [import.md](import.md). With migrate-from-cloudformation, take a whole stack over from CloudFormation: [cloudformation.md](cloudformation.md).",
		asks:        func(in *Inputs) bool { return !in.DryRun },
		refuse: func(in *Inputs) (string, string) {
			if in.ResourceMapping != "" && in.ResourceMappingInline != "" {
				return "resource-mapping-inline", "give either a file or the mapping itself"
			}
			if in.CFNStackName != "" && !in.FromCloudFormation {
				return "cfn-stack-name", "it is for migrate-from-cloudformation; an import knows no other stack"
			}
			if in.FromCloudFormation && (len(in.Resources) > 0 || len(in.Tags) > 0 || in.ResourceMapping != "" || in.ResourceMappingInline != "") {
				return "migrate-from-cloudformation", "CloudFormation names the resources; leave resource, tag and the mappings out"
			}
			if in.LogicalIDTag != "" && len(in.Tags) == 0 {
				return "logical-id-tag", "say with tag which resources of the account are meant"
			}
			for i, tag := range in.Tags {
				key, _, _ := strings.Cut(tag, "=")
				if key == "" {
					return "tag", "want key=value, or a key alone for any value, which " + shown(tag) + " is not"
				}
				if slices.ContainsFunc(in.Tags[:i], func(other string) bool { o, _, _ := strings.Cut(other, "="); return o == key }) {
					return "tag", "want each key once, and " + shown(key) + " is there twice"
				}
			}
			if input, want := cloudFormationName(in); want != "" {
				return input, want
			}
			for _, entry := range in.Resources {
				if id, physical, _ := strings.Cut(entry, "="); id == "" || physical == "" {
					return "resource", "want LogicalId=physical-id, which " + shown(entry) + " is not"
				}
			}
			return "", ""
		}},
	{Name: Export, MaxStacks: 1, Consent: "hands the stack to CloudFormation and forgets what is recorded of it",
		Description: "Hand a stack to CloudFormation, which imports its resources as they are, and forget what is recorded of it. A run that failed or was killed is gone on with by the same command. See [cloudformation.md](cloudformation.md).",
		asks:        func(in *Inputs) bool { return !in.DryRun },
		refuse:      cloudFormationName},
	{Name: Scrub, MaxStacks: -1,
		Description: "Take secrets that the app refers to out of what is recorded of its stacks, where an older release or another program left them, and remove the earlier versions of those records. Exits with 1 when the name of something recorded holds one, and with 2 when a stack could not be scrubbed."},
	{Name: Bootstrap, MaxStacks: 0, Consent: "deletes the asset storage of the region",
		Description: "Make the state bucket, with versions, encryption, and a policy that keeps other accounts out; and a bucket and a repository for assets in the region, unless assets is false. With destroy, delete these again.",
		asks:        func(in *Inputs) bool { return in.Dismantle },
		refuse: func(in *Inputs) (string, string) {
			if in.IncludeStateBucket && !in.Dismantle {
				return "include-state-bucket", "it is for destroy; without that nothing is deleted"
			}
			return "", ""
		}},
	{Name: StateInfo, MaxStacks: 0,
		Description: "Show which state bucket is used, what chose it, and what is in it."},
	{Name: StateList, Alias: "ls", MaxStacks: 0,
		Description: "List the stacks that the state bucket knows.",
		refuse: func(in *Inputs) (string, string) {
			if in.Tree && in.Long {
				return "tree", "give either tree or long, not both"
			}
			return "", ""
		}},
	{Name: StateShow, MinStacks: 1, MaxStacks: 1,
		Description: "Show what is recorded of a stack, and who holds its lock."},
	{Name: StateRows, MinStacks: 1, MaxStacks: 1,
		Description: "List what is recorded of a stack's resources: logical id, type and physical id. Without their properties, which `state show` has."},
	{Name: StateOrphan, MinStacks: 1, MaxStacks: -1, Consent: "forgets what is recorded of the stacks",
		Description: "Forget stacks, or single resources of one, and leave them in AWS as they are. The name of a forgotten stack is free again.",
		asks:        func(in *Inputs) bool { return !in.Force },
		refuse: func(in *Inputs) (string, string) {
			switch {
			case len(in.Resources) > 0 && len(in.Stacks) > 1:
				return "resource", "resources are those of one stack; name only that"
			case len(in.Pending) > 0 && len(in.Stacks) > 1:
				return "pending", "open operations are those of one stack; name only that"
			case len(in.Pending) > 0 && len(in.Resources) > 0:
				return "pending", "resources that are forgotten take their open operations with them"
			}
			return "", ""
		}},
	{Name: StateDestroy, MaxStacks: -1, Consent: "deletes the resources of the stacks",
		Description: "Delete the resources of stacks and what is recorded of them, without the app: the stacks are named as they are recorded.",
		refuse:      namedOrAll},
	{Name: Sweep, MinStacks: 1, MaxStacks: -1, Consent: "deletes the resources of the stacks of closed pull requests",
		Description: "Destroy the stacks of pull requests that are closed, without the app. The stacks are given as patterns with `{pr}` in place of the number, such as `Preview-{pr}-*`; only recorded stacks with such a name are looked at. A terminal needs `GITHUB_REPOSITORY` and `GITHUB_TOKEN`.",
		asks:        func(in *Inputs) bool { return !in.DryRun },
		refuse: func(in *Inputs) (string, string) {
			for _, p := range in.Stacks {
				if strings.Count(p, "{pr}") != 1 || strings.Contains(p, "{pr}*") || strings.Contains(p, "*{pr}") {
					return "stacks", "in each pattern write {pr} once, with something other than * beside it"
				}
			}
			return "", ""
		}},
	{Name: GC, MaxStacks: 0, Consent: "deletes assets",
		Description: "Delete from the region's own asset storage, the one of `bootstrap`, what nothing in the state bucket names: no record, no journal and no open operation, of whatever prefix. Other state buckets of the account that have the same storage are looked through, too. What is younger than older-than stays, and while any stack is locked nothing is deleted.",
		asks:        func(in *Inputs) bool { return !in.DryRun }},
	{Name: StateMigrate, MaxStacks: 0, Consent: "deletes the old bucket with every version of what is in it",
		Description: "Copy a state bucket whose name is of the old form, which holds the region, to one of the new form. Let nothing run that uses either meanwhile.",
		asks:        func(in *Inputs) bool { return in.RemoveLegacy && !in.DryRun }},
	{Name: StateRefresh, MaxStacks: -1,
		Description: "Read the resources of stacks back from AWS, and record that as what was observed of them. What nothing can read keeps what is recorded, and is counted apart.",
		refuse:      namedOrAll},
	{Name: Events, MinStacks: 1, MaxStacks: 1,
		Description: "List the runs of a stack, also of one that is gone; or, of one run, what happened in it."},
	{Name: EventsPrune, MinStacks: 1, MaxStacks: 1, Consent: "deletes the histories of runs",
		Description: "Delete the histories of a stack's older runs. Without keep, older-than or all, the latest 20 stay.",
		refuse: func(in *Inputs) (string, string) {
			if in.All && (in.Keep > 0 || in.OlderThan > 0) {
				return "all", "give either all or keep and older-than, not both"
			}
			return "", ""
		}},
	{Name: ForceUnlock, MinStacks: 1, MaxStacks: -1,
		Description: "Remove the lock of stacks whose holder is known to be dead. A lock that could not be removed is an error in the log and the outcome `partial`; the exit code stays 0."},
	{Name: Permissions, MaxStacks: -1,
		Description: "Print the least IAM policy with which the stacks, all when none is named, can be planned, deployed or destroyed, the state bucket included. With check, name what of it the caller lacks, and exit with 1. Exits with 2 when something is needed that could not be found out."},
	{Name: Doctor, MaxStacks: 0,
		Description: "Look at what a deploy needs, and write nothing: credentials, clock, region, state bucket, locks, what is recorded, registry, asset storage, docker, the workflow's tokens, and the app without running it. A line each, with what to do about it. Exits with 1 when something would make a deploy fail."},
	{Name: Demo, MaxStacks: 0, TerminalOnly: true,
		Description: "Walk through plan, deploy, failure, cancellation and destroy of an example app, against an AWS that runs in this process. Needs no account."},
}

// cloudFormationName refuses what CloudFormation does not take for a stack's name.
func cloudFormationName(in *Inputs) (input, want string) {
	if in.CFNStackName != "" && !stackName.MatchString(in.CFNStackName) {
		return "cfn-stack-name", "want letters, digits and dashes, with a letter first, which " + shown(in.CFNStackName) + " is not"
	}
	for _, path := range slices.Sorted(maps.Keys(in.CFNChildStackNames)) {
		if name := in.CFNChildStackNames[path]; !stackName.MatchString(name) {
			return "cfn-child-stack-name", "want letters, digits and dashes, with a letter first, which " + shown(name) + " is not"
		}
	}
	return "", ""
}

var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)

// namedOrAll is for commands that go by what is recorded.
func namedOrAll(in *Inputs) (input, want string) {
	if len(in.Stacks) == 0 && !in.All {
		return "stacks", "name the stacks, or set all to true"
	}
	return "", ""
}

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
	changing  = []Name{Deploy, Destroy, Rollback, StateDestroy, Sweep}
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
	{Name: "role-arn", Field: func(in *Inputs) any { return &in.RoleARN }, Commands: slices.Concat(onState, []Name{StateMigrate, Synth, List}),
		Description: "A role to assume for everything that is done: with the credentials at hand or, where there are none and the job has `id-token: write`, with the job's OIDC token. The session is renewed for as long as the run takes."},
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
		Allowed:     []string{"plan", "deploy", "destroy", "import", "export"},
		Description: "What the permissions are for. Those of `deploy` include those of `plan` and `destroy`; those of `import` and `export` have what is asked of CloudFormation besides."},
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
	{Name: "verbose", Field: func(in *Inputs) any { return &in.Verbose }, Default: "false",
		Description: "Log what is decided and why, and every request to AWS."},
}

// Commands returns the table of commands.
func Commands() []Command { return slices.Clone(commands) }

// Table returns the table of inputs.
func Table() []Input { return slices.Clone(table) }

// Of tells whether the input belongs to the command.
func (i Input) Of(c Name) bool { return len(i.Commands) == 0 || slices.Contains(i.Commands, c) }

func actionCommands() []string {
	var names []string
	for _, c := range commands {
		if !c.TerminalOnly {
			names = append(names, string(c.Name))
		}
	}
	return names
}

func commandNamed(n Name) (Command, bool) {
	i := slices.IndexFunc(commands, func(c Command) bool { return c.Name == n })
	if i < 0 {
		return Command{}, false
	}
	return commands[i], true
}
