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
			if len(in.RoleARNs) > 1 && len(in.Stacks) > 0 && in.App == "" {
				return "role-arn", "give app, too, which says of which account a stack is; or name the role of that account alone"
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
		Description: "Remove the lock of stacks whose holder is known to be dead: in stack-region or, without it, in every region where the stack is recorded or has a lock. A lock that could not be removed is an error in the log and the outcome `partial`; the exit code stays 0."},
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

// Commands returns the table of commands.
func Commands() []Command { return slices.Clone(commands) }

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
