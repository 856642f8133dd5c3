package template

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/org/cdkd-action/engine/value"
)

// check enforces the constraints of the declaration on each element. For a
// value from the parameter store they are about its path.
func (p *Parameter) check(texts []string, hide bool) error {
	for _, text := range texts {
		broken, err := p.violates(text)
		if err != nil {
			return err
		}
		if broken == "" {
			continue
		}
		shown := fmt.Sprintf("%q ", text)
		if hide {
			shown = ""
		}
		if why := p.Declaration.String("ConstraintDescription"); why != "" {
			return fmt.Errorf("the value %s%s: %s", shown, broken, why)
		}
		return fmt.Errorf("the value %s%s", shown, broken)
	}
	return nil
}

// violates says which constraint text breaks, "" for none. The error is about
// the declaration itself.
func (p *Parameter) violates(text string) (string, error) {
	d := p.Declaration
	if allowed, ok := d.Get("AllowedValues"); ok {
		list, ok := allowed.([]any)
		if !ok {
			return "", fmt.Errorf("AllowedValues: want a list, got %s", value.Kind(allowed))
		}
		var texts []string
		for _, v := range list {
			t, _ := value.Text(v)
			texts = append(texts, t)
		}
		if !slices.Contains(texts, text) {
			return "is not one of " + strings.Join(texts, ", "), nil
		}
	}
	if pattern := d.String("AllowedPattern"); pattern != "" {
		ok, err := matches(pattern, text)
		if err != nil {
			return "", err
		}
		if !ok {
			return "does not match the pattern " + pattern, nil
		}
	}
	if strings.HasSuffix(p.Type, "Number") || p.Type == "List<Number>" {
		return limits(d, text, "MinValue", "MaxValue", "less than", "more than")
	}
	length := fmt.Sprint(utf8.RuneCountInString(text))
	broken, err := limits(d, length, "MinLength", "MaxLength", "shorter than", "longer than")
	if broken != "" {
		broken += " characters"
	}
	return broken, err
}

// limits compares exactly: these may be long identifiers.
func limits(d *value.Object, n, least, most, below, above string) (string, error) {
	got, ok := new(big.Rat).SetString(strings.TrimSpace(n))
	if !ok {
		return "is not a number", nil
	}
	for i, member := range []string{least, most} {
		v, ok := d.Get(member)
		if !ok {
			continue
		}
		text, _ := value.Text(v)
		limit, ok := new(big.Rat).SetString(text)
		if !ok {
			return "", fmt.Errorf("%s: want a number, got %s", member, value.Kind(v))
		}
		if i == 0 && got.Cmp(limit) < 0 {
			return "is " + below + " " + text, nil
		}
		if i == 1 && got.Cmp(limit) > 0 {
			return "is " + above + " " + text, nil
		}
	}
	return "", nil
}

// matches anchors the pattern as CloudFormation does. Its patterns are Java's,
// with the lookaheads that password rules are made of, which Go's own package
// does not have.
func matches(pattern, text string) (bool, error) {
	re, err := regexp2.Compile(`^(?:`+pattern+`)\z`, regexp2.None)
	if err != nil {
		return false, fmt.Errorf("AllowedPattern: %w", err)
	}
	re.MatchTimeout = 5 * time.Second // a pattern may backtrack for ever
	ok, err := re.MatchString(text)
	if err != nil {
		return false, errors.New("AllowedPattern: the pattern takes too long to match")
	}
	return ok, nil
}
