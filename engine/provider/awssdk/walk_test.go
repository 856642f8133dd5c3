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

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// walk changes each property of a living resource that can be changed in place,
// to a value made of the schema, and reads it back. A record that nobody told of
// the change has exactly that property drifted, and a revert puts it back
// (S-317). Then the change is taken away again, as a template would. What the
// emulator cannot do, in its own words, and what it changes with a property, is
// held by a file of the type's name in testdata/lives.
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
	d := provider.Drive(res, cloudcontrol.New(cloudcontrol.Options{})) // which reads what has no reader of its own
	base := living.Properties
	request := func(previous, wanted *value.Object) *provider.Request {
		r := *living
		r.Session, r.Previous, r.Properties, r.Wait = session, previous, wanted, provider.WaitNone
		return &r
	}
	do := func(limit time.Duration, work func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return work(ctx)
	}
	var gone bool // nothing was read
	read := func(r *provider.Request) (got *value.Object) {
		gone = do(time.Minute, func(ctx context.Context) (err error) { got, err = d.Read(ctx, r); return err }) != nil
		if gone {
			return &value.Object{}
		}
		return got
	}
	change := func(previous, wanted *value.Object) error {
		// What does not settle takes all of it.
		return do(15*time.Second, func(ctx context.Context) error { _, err := d.Update(ctx, request(previous, wanted)); return err })
	}
	var lines []string
	remark := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	walked := 0
	recorded := &state.Resource{ResourceType: l.typ, Properties: base} // its baseline is what was read last
	observe := func() { recorded.Observed = read(request(nil, base)) }
	observe()
	readable := !gone
	for _, name := range sortedNames(typ.Properties) {
		known := base.Has(name) || name == res.Tags.Property
		if !typ.Settable(name) || typ.Replaces(name) != schema.InPlace || name == res.Name || known && !readable ||
			slices.Contains(peculiarities[l.typ].stays, name) || leftOut[l.typ+" "+name] != "" || elsewhere[l.typ+" "+name] != "" {
			continue
		}
		sampler := &sampler{typ: typ, fixed: peculiarities[l.typ].fixed, leave: allBut(typ, name)}
		sample := sampler.sample()
		if !sample.props.Has(name) {
			continue
		}
		if value.Equal(sample.props.Value(name), recorded.Observed.Value(name)) {
			for _, leaf := range sample.leaves {
				if leaf.flip != nil {
					leaf.flip()
				}
			}
		}
		given := sample.props.Value(name)
		walked++
		before := len(lines)
		with := base.Clone()
		with.Set(name, given)
		err := change(base, with)
		if refused, ok := errors.AsType[*provider.UnsupportedUpdateError](err); ok && refused.Err == nil {
			t.Errorf("%s has no call that changes it", name)
		}
		if err != nil {
			remark("%s is refused: %s", name, emulatorsWords(err))
			observe()
			continue
		}
		if got := read(request(nil, with)); !l.noRead && !slices.Contains(typ.WriteOnly, name) && !value.Equal(got.Value(name), given) {
			if got.Has(name) {
				remark("%s is read back as %.60s", name, value.JSON(got.Value(name)))
			} else {
				remark("%s is not read back", name)
			}
		}
		drifts := readable && !slices.Contains(typ.WriteOnly, name)
		if drifts { // nobody told the record
			found := read(request(nil, base))
			c := drift.Compare(recorded, found)
			seen := c.Properties()
			others := slices.DeleteFunc(slices.Clone(seen), func(other string) bool { return other == name })
			switch drifts = len(others) < len(seen) && !gone; {
			case gone:
				remark("%s, changed, leaves nothing to be read", name)
			case len(others) > 0:
				remark("%s, changed, shows as %s", name, strings.Join(seen, ", "))
			case !drifts && l.noRead:
				remark("%s is not read back", name)
			case !drifts && len(lines) == before:
				t.Errorf("%s was changed to %s, and no drift is seen", name, value.JSON(given))
			}
			if from, to := drift.Revert(base, recorded.Observed, found, c); drifts && !(value.Equal(from, with) && value.Equal(to, base)) {
				if err := change(from, to); err != nil {
					remark("%s cannot be put back: %s", name, emulatorsWords(err))
				} else if left := drift.Compare(recorded, read(request(nil, base))).Properties(); len(left) > 0 {
					remark("%s stays when it is put back", strings.Join(left, ", "))
				}
				if err := change(base, with); err != nil {
					remark("%s is refused the second time: %s", name, emulatorsWords(err))
				}
			}
		}
		if err := change(with, base); err != nil {
			remark("%s cannot be taken away: %s", name, emulatorsWords(err))
			observe()
			continue
		}
		got, before := read(request(nil, base)), len(lines)
		if !l.noRead && value.Equal(got.Value(name), given) {
			remark("%s stays when it is taken away", name)
		}
		if drifts && before == len(lines) {
			if left := drift.Compare(recorded, got).Properties(); len(left) > 0 {
				remark("%s is not what it was when %s is taken away", strings.Join(left, ", "), name)
			}
		}
		recorded.Observed = got
	}
	if readable {
		compared[l.typ] = true
	}
	t.Logf("%s: %d properties walked, with %d remarks", l.typ, walked, len(lines))
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

// walks counts those of a type in a test, and compared has the types of which drift
// was looked for.
var walks, compared = map[string]int{}, map[string]bool{}

// notCompared are the types with a reader of which the emulator carries none, or none
// that it lets one change, in its own words.
var notCompared = map[string]string{
	"AWS::AppSync::DataSource":                        "status 404",
	"AWS::AppSync::FunctionConfiguration":             "status 404",
	"AWS::AppSync::GraphQLSchema":                     "a schema is told with the directives that all have",
	"AWS::AppSync::Resolver":                          "status 404",
	"AWS::AutoScaling::AutoScalingGroup":              "its instances do not settle in time",
	"AWS::CloudFront::CloudFrontOriginAccessIdentity": "status 404",
	"AWS::CloudWatch::AnomalyDetector":                "status 502",
	"AWS::CloudWatch::CompositeAlarm":                 "status 502",
	"AWS::CodeBuild::Project":                         "UpdateProject: status 500",
	"AWS::DocDB::DBCluster":                           "InvalidParameterValue: Engine 'docdb' is not supported to satisfy constraint",
	"AWS::DocDB::DBInstance":                          "of a cluster, which see",
}

// uncompared are types with a reader of which no life tells whether drift is seen,
// and those that are said to be so in vain.
func uncompared() (left []string) {
	for _, r := range Resources() {
		if r.Read != nil && compared[r.Type] == (notCompared[r.Type] != "") {
			left = append(left, r.Type)
		}
	}
	return left
}

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
	chosen = regexp.MustCompile(`RequestID: [^,]+, |[0-9a-f]{8,}(-[0-9a-f]{4,})*|\b[A-Z0-9]{12,}\b|[a-z]{3}:\d\d:\d\d`)
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
