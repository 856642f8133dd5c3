package awssdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// walk gives a living resource each property that it has not and that can be
// changed in place, with a value made of the schema, reads it back, and takes it
// away again. What the emulator cannot do, in its own words, is held by a file of
// the type's name in testdata/lives.
func (l life) walk(t *testing.T, s *provider.Session, living *provider.Request) {
	t.Helper()
	typ, ok := schema.Lookup(l.typ)
	if !ok {
		return
	}
	cfg := s.Config.Copy()
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} } // what it cannot do now it cannot do later
	session := &provider.Session{Config: cfg}
	res := describe(t, l.typ)
	d := provider.Drive(res, nil)
	base := living.Properties
	request := func(previous, wanted *value.Object) *provider.Request {
		r := *living
		r.Session, r.Previous, r.Properties, r.Wait = session, previous, wanted, provider.WaitNone
		return &r
	}
	do := func(work func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return work(ctx)
	}
	read := func(r *provider.Request) (got *value.Object) {
		if do(func(ctx context.Context) (err error) { got, err = d.Read(ctx, r); return err }) != nil {
			return &value.Object{}
		}
		return got
	}
	var lines []string
	walked := 0
	for _, name := range sortedNames(typ.Properties) {
		if !typ.Settable(name) || base.Has(name) || typ.Replaces(name) != schema.InPlace || name == res.Tags.Property ||
			slices.Contains(peculiarities[l.typ].stays, name) || leftOut[l.typ+" "+name] != "" || elsewhere[l.typ+" "+name] != "" {
			continue
		}
		given := (&sampler{typ: typ, fixed: peculiarities[l.typ].fixed, leave: allBut(typ, name)}).sample().props.Value(name)
		if given == nil {
			continue
		}
		walked++
		with := base.Clone()
		with.Set(name, given)
		err := do(func(ctx context.Context) error { _, err := d.Update(ctx, request(base, with)); return err })
		if refused, ok := errors.AsType[*provider.UnsupportedUpdateError](err); ok && refused.Err == nil {
			t.Errorf("%s has no call that changes it", name)
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s is refused: %s", name, emulatorsWords(err)))
			continue
		}
		if got := read(request(nil, with)); !l.noRead && !slices.Contains(typ.WriteOnly, name) && !value.Equal(got.Value(name), given) {
			if got.Has(name) {
				lines = append(lines, fmt.Sprintf("%s is read back as %.60s", name, value.JSON(got.Value(name))))
			} else {
				lines = append(lines, name+" is not read back")
			}
		}
		if err := do(func(ctx context.Context) error { _, err := d.Update(ctx, request(with, base)); return err }); err != nil {
			lines = append(lines, fmt.Sprintf("%s cannot be taken away: %s", name, emulatorsWords(err)))
			continue
		}
		if got := read(request(nil, base)); !l.noRead && value.Equal(got.Value(name), given) {
			lines = append(lines, name+" stays when it is taken away")
		}
	}
	t.Logf("%s: %d properties walked, %d of them with a remark", l.typ, walked, len(lines))
	life := strings.TrimPrefix(t.Name(), "Test")
	if walks[l.typ+life]++; walks[l.typ+life] > 1 {
		life = fmt.Sprint(life, " ", walks[l.typ+life])
	}
	file := filepath.Join("testdata", "lives", strings.ReplaceAll(strings.TrimPrefix(l.typ, "AWS::"), "::", "-")+"."+notInFiles.ReplaceAllString(life, "-")+".txt")
	if len(lines) == 0 {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is there, and the emulator can do everything", file)
		}
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, file, strings.Join(lines, "\n")+"\n")
}

// walks counts those of a type in a test.
var walks = map[string]int{}

func allBut(typ *schema.Type, name string) map[string]bool {
	leave := map[string]bool{}
	for other := range typ.Properties {
		leave[other] = other != name
	}
	return leave
}

var (
	notInFiles = regexp.MustCompile(`[^A-Za-z0-9]+`)
	// chosen are the parts of a message that the emulator chooses anew.
	chosen = regexp.MustCompile(`[0-9a-f]{8,}(-[0-9a-f]{4,})*|\b[A-Z0-9]{12,}\b|[a-z]{3}:\d\d:\d\d`)
)

// emulatorsWords are what the emulator said, without what it chooses.
func emulatorsWords(err error) string {
	if answer, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok && answer.HTTPStatusCode() >= 500 {
		return fmt.Sprintf("status %d", answer.HTTPStatusCode())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it does not settle"
	}
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		first, _, _ := strings.Cut(answer.ErrorMessage(), "\n")
		return strings.TrimSpace(chosen.ReplaceAllString(answer.ErrorCode()+": "+first, "…"))
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSpace(chosen.ReplaceAllString(first, "…"))
}
