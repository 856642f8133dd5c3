package ci

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ActionCommand is the argument with which action.yml starts the program: the
// inputs then come from the INPUT_* variables.
const ActionCommand = "action"

// A Program is the command line, made from [Table].
type Program struct {
	Surface *Surface
	// Run does what the inputs say. Its error is what [Program.Command]'s
	// Execute returns.
	Run func(ctx context.Context, in *Inputs) error
	// Version is shown by --version.
	Version string
	// Without are commands that this build does not have.
	Without []Name
}

// Command returns the program as a cobra command. It prints no errors: those
// of what was given come back from Execute as an [*InputError], all faults at
// once.
func (p Program) Command() *cobra.Command {
	root := &cobra.Command{
		Use:           "cdkd-action",
		Short:         "Deploy AWS CDK apps by calling AWS directly instead of CloudFormation",
		Version:       p.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          p.noArguments,
		RunE:          p.withoutCommand,
	}
	root.SetOut(p.Surface.out)
	root.SetErr(p.Surface.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &InputError{[]Fault{{Want: fmt.Sprintf("%v; see %s --help", err, c.CommandPath())}}}
	})

	for _, c := range commands {
		if slices.Contains(p.Without, c.Name) {
			continue
		}
		parent, last := root, string(c.Name)
		if group, name, nested := strings.Cut(last, " "); nested {
			parent, last = p.group(root, group), name
		}
		parent.AddCommand(p.subcommand(c, last))
	}
	root.AddCommand(&cobra.Command{
		Use:    ActionCommand,
		Short:  "Run as a step of a GitHub workflow, with the inputs of the step",
		Hidden: true,
		Args:   p.noArguments,
		RunE:   func(c *cobra.Command, _ []string) error { return p.action(c.Context()) },
	})
	return root
}

// withoutCommand helps a person. A step that does nothing must not look done.
func (p Program) withoutCommand(c *cobra.Command, _ []string) error {
	if !p.Surface.InStep() {
		return c.Help()
	}
	return &InputError{[]Fault{{
		Want: fmt.Sprintf("%s was started without a command: in a workflow use the action with the input command, without args and entrypoint of your own; in a run step give it one, see %[1]s --help", c.CommandPath()),
	}}}
}

// group returns the command that holds nested ones, such as "state".
func (p Program) group(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	g := &cobra.Command{
		Use:   name,
		Short: "Look at what is recorded",
		Args:  p.noArguments,
		RunE:  p.withoutCommand,
	}
	root.AddCommand(g)
	return g
}

func (p Program) subcommand(c Command, name string) *cobra.Command {
	g := given{}
	use, takes := name, cmp.Or(c.Takes, "STACK")
	switch {
	case c.MaxStacks == 0:
	case c.MaxStacks == 1:
		use += " " + takes
	case c.MinStacks == 0:
		use += " [" + takes + "…]"
	default:
		use += " " + takes + "…"
	}
	cmd := &cobra.Command{
		Use:                   use + " [flags]",
		Aliases:               aliases(c),
		Short:                 firstSentence(c.Description),
		Long:                  c.Description,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := loose(cmd, args); err != nil {
				return err
			}
			if len(args) > 0 {
				g["stacks"] = args
			}
			return p.run(cmd.Context(), g, c.Name, p.Surface.Interactive())
		},
	}
	cmd.Flags().SortFlags = false // the table's order is by subject
	for _, in := range table {
		if in.ActionOnly || !in.Of(c.Name) {
			continue
		}
		bind(cmd, g, in)
	}
	return cmd
}

// loose refuses the value of a switch that stands beside it, where it would be
// taken for a stack.
func loose(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		switch arg {
		case "on", "off", "true", "false":
		default:
			continue
		}
		var fault error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" && fault == nil {
				fault = &InputError{[]Fault{{Want: fmt.Sprintf("%q would be a stack: the value of a switch follows after =, as in --%s=%s", arg, f.Name, arg)}}}
			}
		})
		if fault != nil {
			return fault
		}
	}
	return nil
}

func aliases(c Command) []string {
	if c.Alias == "" {
		return nil
	}
	return []string{c.Alias}
}

// bind makes the input a flag. Flags only collect: all are parsed together
// afterwards, so that all faults are told at once.
func bind(cmd *cobra.Command, g given, in Input) {
	usage := in.Description
	if len(in.Allowed) > 0 {
		usage += " (" + strings.Join(in.Allowed, ", ") + ")"
	}
	if in.Default != "" && in.Default != "false" {
		usage += " (default " + in.Default + ")"
	}
	// The flag library takes the first `quoted` word for the value's name.
	usage = strings.ReplaceAll(usage, "`", "")
	flags := cmd.Flags()
	flag := flags.VarPF(&collector{g: g, in: in}, in.Name, "", usage)
	if !in.isBool() {
		return
	}
	flag.NoOptDefVal = "true"
	if in.Default == "true" {
		no := flags.VarPF(&collector{g: g, in: in, always: "false"}, "no-"+in.Name, "", "The same as --"+in.Name+"=false")
		no.NoOptDefVal = "true"
	}
}

func (i Input) isBool() bool { return reflect.TypeOf(i.Field(&Inputs{})) == reflect.TypeFor[*bool]() }

// A collector is a flag that keeps what it is given.
type collector struct {
	g      given
	in     Input
	always string // what the flag means, whatever it is given
}

func (c *collector) String() string { return "" }

func (c *collector) Type() string {
	switch c.in.Field(&Inputs{}).(type) {
	case *map[string]string:
		return "name=value"
	case *bool:
		return "bool" // the flag library leaves this word out
	}
	return "value"
}

func (c *collector) Set(v string) error {
	if c.always != "" {
		v = c.always
	}
	c.g[c.in.Name] = append(c.g[c.in.Name], v)
	return nil
}

func (p Program) action(ctx context.Context) error {
	g, unknown := fromEnvironment(p.Surface.environ)
	for _, name := range unknown {
		p.Surface.Warning(Annotation{
			Title:   "Unknown input",
			Message: fmt.Sprintf("this action has no input %q, so it is ignored", name),
		})
	}
	return p.run(ctx, g, "", false)
}

func (p Program) run(ctx context.Context, g given, command Name, interactive bool) error {
	in, warnings, err := g.parse(command, interactive)
	for _, w := range warnings {
		p.Surface.Warning(Annotation{Title: "Input without effect", Message: w})
	}
	if err != nil {
		return err
	}
	p.Surface.Mask(in.GitHubToken)
	return p.Run(ctx, in)
}

func (p Program) noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &InputError{[]Fault{{
		Given: shown(args[0]),
		Want:  fmt.Sprintf("want a command of %s --help", c.CommandPath()),
	}}}
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}
