package awssdk

import (
	stdcmp "cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/drift"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// moto is one emulator for all tests of the package, behind the sandbox; names
// keep them apart.
var moto struct {
	once sync.Once
	*sandbox.Sandbox
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if moto.Sandbox != nil {
		moto.Close()
		whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
		if left := uncompared(); code == 0 && whole && len(left) > 0 {
			fmt.Println("drift is looked for, against notCompared, or not looked for in:", left)
			code = 1
		}
	}
	os.Exit(code)
}

var stack = provider.Stack{
	Name: "Shop", ID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/Shop/1",
	Region: "eu-west-1", AccountID: "123456789012", Partition: "aws",
}

// emulated returns a session in the emulator's account.
func emulated(t *testing.T) *provider.Session {
	t.Helper()
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server: pip install 'moto[server]'")
	}
	moto.once.Do(func() {
		moto.Sandbox, moto.err = sandbox.Start(context.Background(), sandbox.Options{Region: stack.Region, Upstream: sandbox.Moto})
	})
	if moto.err != nil {
		t.Fatal(moto.err)
	}
	return &provider.Session{Config: moto.Config()}
}

// A step brings a resource to some properties and says how to see that it
// worked, by calls that are not the provider's own.
type step struct {
	name  string
	props string
	seen  func(ctx context.Context, id string) (any, error)
	want  any
}

// A life is what one resource goes through: the first step creates it, the
// others update it, and it is deleted twice in the end.
type life struct {
	typ        string
	physical   string // name to create under
	id         string // wanted physical id; "" when the service chooses
	attributes map[string]string
	steps      []step
	// owner is the tag of the create, where one for all tests will not do.
	owner string
	// gone reads the resource after its delete, and must fail.
	gone func(ctx context.Context, id string) error
	// noRead is set for types that are read through Cloud Control.
	noRead bool
	// refused are parts of the errors with which the emulator refuses steps, by
	// their names. AWS takes them.
	refused map[string]string
	// unread are properties that the emulator does not give back.
	unread []string
	// What the emulator cannot do: find again, or say that what is deleted once
	// more is gone.
	noFind, deletedOnce bool
	// noWalk is set where the test itself goes on with the resource.
	noWalk bool
	// undeleted says why the emulator does not delete it.
	undeleted string
	wait      provider.WaitMode
}

func describe(t *testing.T, typ string) provider.Resource {
	t.Helper()
	for _, r := range Resources() {
		if r.Type == typ {
			return r
		}
	}
	t.Fatalf("no description of %s", typ)
	return provider.Resource{}
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

func (l life) run(t *testing.T, s *provider.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // on a machine with much else to do
	defer cancel()
	d := provider.Drive(describe(t, l.typ), nil)
	request := func() *provider.Request {
		return &provider.Request{Session: s, Stack: stack, LogicalID: "Res", Type: l.typ, Name: l.physical, Wait: l.wait}
	}

	var id string
	var attributes, recorded, before *value.Object // before is what was read last
	for i, st := range l.steps {
		r := request()
		r.Properties = object(t, st.props)
		if i == 0 {
			told := 0
			r.OwnerTag = stdcmp.Or(l.owner, "0123456789abcdef0123456789abcdef")
			r.Token = r.OwnerTag
			r.Made = func(provider.Created) { told++ }
			if found, err := d.Find(ctx, r); !l.noFind && (found != "" || err != nil) {
				t.Errorf("%s: found %q, %v before the create", st.name, found, err)
			}
			made, err := d.Create(ctx, r)
			if err != nil {
				t.Fatalf("%s: create: %v", st.name, err)
			}
			if told != 1 {
				t.Errorf("%s: Made was told %d times, want once", st.name, told)
			}
			id, attributes = made.PhysicalID, made.Attributes
			if found, err := d.Find(ctx, r); describe(t, l.typ).Find != nil && !l.noFind && (found != id || err != nil) {
				t.Errorf("%s: found %q, %v after a create whose answer was lost, want %q", st.name, found, err, id)
			}
			if l.id != "" && id != l.id {
				t.Errorf("physical id %q, want %q", id, l.id)
			}
		} else {
			r.PhysicalID, r.Previous, r.Attributes = id, recorded, attributes
			updated, err := d.Update(ctx, r)
			if refused := l.refused[st.name]; refused != "" {
				if err == nil || !strings.Contains(err.Error(), refused) {
					t.Errorf("%s: %v, want the emulator to refuse it: %s", st.name, err, refused)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: update: %v", st.name, err)
			}
			if updated.Attributes != nil {
				attributes = updated.Attributes
			}
		}
		was := recorded
		recorded = r.Properties
		for name, want := range l.attributes {
			if got, _ := value.Text(attributes.Value(name)); got != want {
				t.Errorf("%s: attribute %s is %q, want %q", st.name, name, got, want)
			}
		}
		if st.seen != nil {
			got, err := st.seen(ctx, id)
			if err != nil {
				t.Fatalf("%s: look at it: %v", st.name, err)
			}
			if diff := cmp.Diff(st.want, got); diff != "" {
				t.Errorf("%s: in AWS (-want +got):\n%s", st.name, diff)
			}
		}
		if !l.noRead {
			r := request()
			r.PhysicalID, r.Properties, r.Attributes = id, recorded, attributes
			got, err := d.Read(ctx, r)
			if err != nil {
				t.Fatalf("%s: read: %v", st.name, err)
			}
			for name, want := range recorded.All() {
				if !slices.Contains(l.unread, name) && !value.Equal(got.Value(name), want) {
					t.Errorf("%s: read back %s as %s, want %s", st.name, name, value.JSON(got.Value(name)), value.JSON(want))
				}
			}
			if before != nil {
				l.drifted(t, st.name, &state.Resource{ResourceType: l.typ, Properties: was, Observed: before}, recorded, got)
			}
			before = got
		}
	}

	r := request()
	r.PhysicalID, r.Properties, r.Attributes = id, recorded, attributes
	if !l.noWalk {
		l.walk(t, s, r)
	}

	for _, when := range []string{"delete", "delete again"} {
		if l.deletedOnce && when != "delete" || l.undeleted != "" {
			break
		}
		r := request()
		r.PhysicalID, r.Properties, r.Attributes = id, recorded, attributes
		if _, err := d.Delete(ctx, r); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	if l.gone != nil {
		if err := l.gone(ctx, id); err == nil {
			t.Error("it is still there after its delete")
		}
	}
}

// drifted fails unless a record that does not know of a step has the properties that
// the step changed, and no others, drifted (S-317).
func (l life) drifted(t *testing.T, step string, row *state.Resource, now, read *value.Object) {
	t.Helper()
	found, silent := drift.Compare(row, read).Properties(), l.unread
	if typ, ok := schema.Lookup(l.typ); ok {
		silent = slices.Concat(silent, typ.WriteOnly)
	}
	for _, name := range found {
		if value.Equal(row.Properties.Value(name), now.Value(name)) {
			t.Errorf("%s: drift of %s is seen, which the step does not change", step, name)
		}
	}
	for name, v := range now.All() {
		if row.Properties.Has(name) && !value.Equal(row.Properties.Value(name), v) && !slices.Contains(slices.Concat(found, silent), name) {
			t.Errorf("%s: no drift of %s is seen, which the step changes", step, name)
		}
	}
}
