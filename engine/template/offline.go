package template

import (
	"context"
	"errors"
)

// Offline evaluates what of the template does not depend on where and with what
// it is deployed, and reports what is wrong with it: names that lead nowhere,
// functions that are given what they cannot take. It asks nobody, takes no
// parameter's value, and says nothing of what hangs on a condition that it cannot
// decide. What it refuses a deployment would refuse, too, whatever it is told.
//
// The scope has the resources that are made in any case. It is nil when not even
// those can be told.
func (t *Template) Offline(ctx context.Context, stackName, region, accountID string) (*Scope, error) {
	if len(t.Macros()) > 0 {
		return nil, nil
	}
	s, err := t.Bind(ctx, Environment{AccountID: accountID, Region: region, StackName: stackName}, nil, nothing{}, func(b *binding) { b.offline = true })
	if errors.Is(err, ErrUnknown) {
		return nil, nil // the collection of a loop, say
	}
	if err != nil {
		return nil, err
	}
	faults := &Faults{Template: t.Name}
	s.admit(ctx, faults)
	for _, r := range s.kept {
		if _, _, err := s.Preview(ctx, r.LogicalID); err != nil {
			faults.addError("Resources."+r.LogicalID, err)
		}
	}
	for _, o := range s.outputs {
		var refused *ExportError
		if _, _, _, err := s.PreviewOutput(ctx, o.Name); err != nil && !errors.As(err, &refused) {
			faults.addError("Outputs."+o.Name, err)
		}
	}
	return s, faults.err()
}

// undecided tells whether it cannot be told what becomes of a condition.
func (s *Scope) undecided(condition string) bool {
	return s.offline && s.conditions[condition].err != nil
}

// A nothing is a World that knows nothing yet.
type nothing struct{}

func (nothing) Ref(context.Context, string) (any, error)               { return nil, ErrUnknown }
func (nothing) Attribute(context.Context, string, string) (any, error) { return nil, ErrUnknown }
func (nothing) Import(context.Context, string) (any, error)            { return nil, ErrUnknown }
func (nothing) StackOutput(context.Context, StackOutput) (any, error)  { return nil, ErrUnknown }
func (nothing) AvailabilityZones(context.Context, string) ([]string, error) {
	return nil, ErrUnknown
}
func (nothing) SSMParameters(context.Context, []string) (map[string]string, error) {
	return nil, ErrUnknown
}
func (nothing) Dynamic(context.Context, string, string) (string, bool, error) {
	return "", false, ErrUnknown
}
