package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/value"
)

// A Fault is one input that cannot be used.
type Fault struct {
	Input string // "" when it is the command line as such
	Given string // "" when nothing was given, or when it must not be repeated
	Want  string

	consent bool // somebody has to agree
}

func (f Fault) String() string {
	text := f.Want
	if f.Input != "" {
		text = f.Input + ": " + text
	}
	if f.Given != "" {
		text += ", got " + f.Given
	}
	return text
}

// An InputError is everything that is wrong with what a run was given.
type InputError struct{ Faults []Fault }

func (e *InputError) Error() string {
	if len(e.Faults) == 1 && e.Faults[0].Input == "" {
		return e.Faults[0].String()
	}
	if len(e.Faults) == 1 {
		return "input " + e.Faults[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot be used:", amount.Of(len(e.Faults), "input"))
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Page is the page about it.
func (e *InputError) Page() guide.Page {
	if len(e.Faults) == 1 && e.Faults[0].consent {
		return guide.Consent
	}
	return guide.Inputs
}

// given holds what was given, before it has types: by input name the entries.
// An input that is absent was not given.
type given map[string][]string

// fromEnvironment takes the INPUT_* variables: what the runner makes of a
// step's "with". unknown are the names that are in no table.
func fromEnvironment(environ []string) (g given, unknown []string) {
	byKey := map[string]string{}
	for _, in := range table {
		byKey[inputVariable(in.Name)] = in.Name
	}
	g = given{}
	for _, kv := range environ {
		key, v, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(key, "INPUT_") {
			continue
		}
		name, known := byKey[key]
		if !known {
			// These two are the runner's: they change how the image is run.
			if key != "INPUT_ENTRYPOINT" && key != "INPUT_ARGS" {
				unknown = append(unknown, strings.ToLower(strings.TrimPrefix(key, "INPUT_")))
			}
			continue
		}
		// The runner passes an input that was left out as an empty one.
		if strings.TrimSpace(v) != "" {
			g[name] = []string{strings.TrimSpace(v)}
		}
	}
	slices.Sort(unknown)
	return g, unknown
}

// inputVariable is the runner's rule: upper case, spaces to underscores,
// dashes kept.
func inputVariable(name string) string {
	return "INPUT_" + strings.ReplaceAll(strings.ToUpper(name), " ", "_")
}

// parse gives what was given its types, with the defaults for the rest. All
// faults come back in one InputError.
//
// command is the one on the command line, "" when it is an input like any
// other.
func (g given) parse(command Name, interactive bool) (in *Inputs, warnings []string, err error) {
	in = &Inputs{}
	var faults []Fault
	for _, row := range table {
		entries, ok := g[row.Name]
		if !ok && row.Default != "" {
			entries = []string{row.Default}
		}
		if len(entries) == 0 {
			continue
		}
		if row.Restricts && blank(entries) {
			faults = append(faults, Fault{Input: row.Name, Want: "it is given and empty, and what is empty restricts nothing; leave it out if that is meant"})
			continue
		}
		if f := row.fill(in, entries); f != nil {
			faults = append(faults, *f)
		}
	}
	if command != "" {
		in.Command = command
	}
	c, known := commandNamed(in.Command)
	if !known { // said already: the input has a closed list
		return nil, nil, &InputError{faults}
	}
	misplaced, warnings := g.misplaced(c)
	faults = append(faults, misplaced...)
	faults = append(faults, together(c, in, interactive)...)
	if len(faults) > 0 {
		return nil, warnings, &InputError{faults}
	}
	return in, warnings, nil
}

func blank(entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool { return strings.TrimSpace(e) != "" })
}

// misplaced finds what was given to a command that has no use for it.
func (g given) misplaced(c Command) (faults []Fault, warnings []string) {
	for _, row := range table {
		entries, ok := g[row.Name]
		if !ok || row.Of(c.Name) || slices.Equal(entries, []string{row.Default}) {
			continue
		}
		if row.Name == "stacks" {
			faults = append(faults, Fault{Input: row.Name, Want: fmt.Sprintf("%s takes no stacks; leave them out", c.Name)})
		} else if row.Restricts {
			faults = append(faults, Fault{Input: row.Name, Want: fmt.Sprintf("%s cannot honour it; leave it out", c.Name)})
		} else {
			warnings = append(warnings, fmt.Sprintf("input %s has no effect on %s", row.Name, c.Name))
		}
	}
	return faults, warnings
}

// together checks what no single input shows.
func together(c Command, in *Inputs, interactive bool) (faults []Fault) {
	n := len(in.Stacks)
	switch {
	case n < c.MinStacks:
		faults = append(faults, Fault{Input: "stacks", Want: fmt.Sprintf("%s needs the name of a stack", c.Name)})
	case c.MaxStacks > 0 && n > c.MaxStacks:
		faults = append(faults, Fault{Input: "stacks", Given: strconv.Itoa(n), Want: fmt.Sprintf("%s takes %d at a time", c.Name, c.MaxStacks)})
	}
	if in.All && n > 0 && c.MinStacks == 0 { // else it is all of something else
		faults = append(faults, Fault{Input: "all", Want: "give either all or stacks, not both"})
	}
	if f := roles(c, in.RoleARNs); f != nil {
		faults = append(faults, *f)
	}
	if c.refuse != nil {
		if input, want := c.refuse(in); want != "" {
			faults = append(faults, Fault{Input: input, Want: want})
		}
	}
	if c.Consent != "" && !in.Yes && !interactive && (c.asks == nil || c.asks(in)) {
		faults = append(faults, Fault{Input: "yes", Want: fmt.Sprintf("%s %s and there is no terminal to ask on; set yes to true to agree", c.Name, c.Consent), consent: true})
	}
	return faults
}

// roles checks that those to assume are roles, of one account each, and that the
// command can work on several accounts.
func roles(c Command, given []string) *Fault {
	seen := map[string]bool{}
	for _, text := range given {
		role, err := arn.Parse(text)
		switch {
		case err != nil || role.Service != "iam" || !accountID.MatchString(role.AccountID) || !strings.HasPrefix(role.Resource, "role/"):
			return &Fault{Input: "role-arn", Want: "want the ARN of a role, like arn:aws:iam::111122223333:role/deploy", Given: shown(text)}
		case seen[role.AccountID]:
			return &Fault{Input: "role-arn", Want: fmt.Sprintf("want one role of each account; account %s has two", role.AccountID)}
		}
		seen[role.AccountID] = true
	}
	if len(given) > 1 && !slices.Contains(accounts, c.Name) {
		return &Fault{Input: "role-arn", Given: strconv.Itoa(len(given)), Want: fmt.Sprintf("%s works in one account; name the role of that", c.Name)}
	}
	return nil
}

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

// fill parses the entries into the row's field.
func (i Input) fill(in *Inputs, entries []string) *Fault {
	refuse := func(entry string) *Fault {
		f := &Fault{Input: i.Name, Want: "want " + i.Type(), Given: shown(entry)}
		if i.Secret {
			f.Given = "a value that is not shown"
		}
		return f
	}
	switch field := i.Field(in).(type) {
	case *[]string:
		*field = lines(entries)
		return nil
	case *map[string]string:
		*field = map[string]string{}
		if text := strings.TrimSpace(strings.Join(entries, "\n")); strings.HasPrefix(text, "{") {
			values, err := members(text)
			if err != nil {
				return &Fault{Input: i.Name, Want: "want " + i.Type() + ": " + err.Error()}
			}
			*field = values
			return nil
		}
		for n, entry := range lines(entries) {
			k, v, ok := strings.Cut(entry, "=")
			k = strings.TrimSpace(k)
			if _, twice := (*field)[k]; twice {
				return &Fault{Input: i.Name, Want: fmt.Sprintf("entry %d gives %s a second value", n+1, shown(k))}
			}
			if !ok || k == "" {
				return &Fault{Input: i.Name, Want: fmt.Sprintf("want %s, entry %d is not", i.Type(), n+1)}
			}
			(*field)[k] = v
		}
		return nil
	case *TimeLimit:
		limit := TimeLimit{Of: map[string]time.Duration{}}
		for _, entry := range lines(append([]string{i.Default}, entries...)) {
			var d time.Duration
			typ, text, of := strings.Cut(entry, "=")
			if !of {
				text = entry
			}
			if of && typ == "" || i.set(reflect.ValueOf(&d).Elem(), text) != nil {
				return refuse(entry)
			}
			if of {
				limit.Of[typ] = d
			} else {
				limit.Each = d
			}
		}
		*field = limit
		return nil
	default:
		entry := entries[len(entries)-1] // of a flag given twice the last counts
		if i.set(reflect.ValueOf(field).Elem(), entry) != nil {
			return refuse(entry)
		}
		return nil
	}
}

var errType = errors.New("not of the input's type")

func (i Input) set(field reflect.Value, entry string) error {
	switch {
	case field.Type() == reflect.TypeFor[time.Duration]():
		if days, ok := strings.CutSuffix(entry, "d"); ok {
			if n, err := strconv.ParseUint(days, 10, 14); err == nil {
				entry = fmt.Sprint(24*n, "h")
			}
		}
		d, err := time.ParseDuration(entry)
		if err != nil || d < 0 || i.Positive && d == 0 {
			return errType
		}
		field.SetInt(int64(d))
	case field.Kind() == reflect.Bool:
		switch strings.ToLower(entry) {
		case "true", "on":
			field.SetBool(true)
		case "false", "off":
			field.SetBool(false)
		default:
			return errType
		}
	case field.Kind() == reflect.Int:
		n, err := strconv.Atoi(entry)
		if err != nil || n < 0 || i.Positive && n == 0 {
			return errType
		}
		field.SetInt(int64(n))
	default:
		if len(i.Allowed) > 0 && !slices.Contains(i.Allowed, entry) {
			return errType
		}
		field.SetString(entry)
	}
	return nil
}

// Type describes the values that the input takes.
func (i Input) Type() string {
	above := ""
	if i.Positive {
		above = " above zero"
	}
	switch field := i.Field(&Inputs{}).(type) {
	case *[]string:
		return "a list, one entry a line"
	case *map[string]string:
		return "a list of name=value, one entry a line, or a JSON object"
	case *bool:
		return "true or false (on or off)"
	case *int:
		return "a whole number" + above
	case *time.Duration:
		return "a duration such as 90s, 10m, 1h or 30d" + above
	case *TimeLimit:
		return "a duration such as 90s, 10m or 1h" + above + ", one for a type as Type=duration, each on a line"
	default:
		if len(i.Allowed) > 0 {
			return "one of " + strings.Join(i.Allowed, ", ")
		}
		if reflect.TypeOf(field).Elem().Kind() != reflect.String {
			panic(fmt.Sprintf("input %s fills a %T", i.Name, field)) // the table's own test finds it
		}
		return "text"
	}
}

// members reads a JSON object, in which a value may have several lines. The error
// shows none of the values.
func members(text string) (map[string]string, error) {
	object, err := value.ParseObject([]byte(text))
	if err != nil {
		return nil, errors.New("it begins like an object and is none")
	}
	all := map[string]string{}
	for name, v := range object.All() {
		switch v := v.(type) {
		case string:
			all[name] = v
		case bool, json.Number:
			all[name] = value.JSON(v)
		default:
			return nil, fmt.Errorf("%s is neither a text nor a number nor a boolean", shown(name))
		}
	}
	return all, nil
}

// lines splits entries at line ends, without blanks around them and without
// empty ones.
func lines(entries []string) []string {
	var out []string
	for _, e := range entries {
		for l := range strings.Lines(e) {
			if l = strings.TrimSpace(l); l != "" {
				out = append(out, l)
			}
		}
	}
	return out
}

// shown quotes what was given, on one line and not at any length.
func shown(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
