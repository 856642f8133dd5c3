package cloudcontrol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
	emulator "github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

func TestLifeOfAResource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 3*time.Second)
		p := New(Options{})
		r := w.request(t, repository, `{"ImageScanningConfiguration":{"ScanOnPush":"true"},"LifecyclePolicy":null,"Arn":"not ours to say"}`, "")
		r.Name, r.NameProperty, r.Token = "shop-thing", "RepositoryName", "token-1"
		var told string
		r.Made = func(c provider.Created) { told = c.PhysicalID }
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if made.PhysicalID != "shop-thing" || told != "shop-thing" {
			t.Errorf("id: want shop-thing by name default (T-1044), got %q, told %q", made.PhysicalID, told)
		}
		state := object(t, w.bodies("CreateResource")[0].String("DesiredState"))
		if want := object(t, `{"ImageScanningConfiguration":{"ScanOnPush":true},"RepositoryName":"shop-thing"}`); !value.Equal(want, state) {
			t.Errorf("desired state (T-1000, T-1001): want %s, got %s", value.JSON(want), value.JSON(state))
		}
		if got := w.bodies("CreateResource")[0].String("ClientToken"); got != "token-1" {
			t.Errorf("client token (T-1001): want token-1, got %q", got)
		}
		if arn := made.Attributes.String("Arn"); !strings.HasPrefix(arn, "arn:aws:ecr:eu-west-1:123456789012:") {
			t.Errorf("attribute Arn (T-1032): got %q", arn)
		}

		r.PhysicalID = made.PhysicalID
		r.Previous = r.Properties
		r.Properties = object(t, `{"ImageScanningConfiguration":{"ScanOnPush":false},"ImageTagMutability":"IMMUTABLE"}`)
		r.Token = "token-2"
		updated, err := p.Update(t.Context(), r)
		if err != nil || updated.Attributes.String("Arn") == "" {
			t.Fatalf("update: %v, attributes %s", err, value.JSON(updated.Attributes))
		}
		live, err := p.Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if live.String("ImageTagMutability") != "IMMUTABLE" || value.JSON(live.Value("ImageScanningConfiguration")) != `{"ScanOnPush":false}` {
			t.Errorf("the update did not arrive: %s", value.JSON(live))
		}

		r.Token = ""
		if _, err := p.Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Read(t.Context(), r); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("read after delete: want ErrNotFound, got %v", err)
		}
		if _, err := p.Delete(t.Context(), r); err != nil {
			t.Errorf("deleting what is gone is success (T-1008): %v", err)
		}
		elsewhere := *r
		elsewhere.Stack.Region = "us-east-1"
		var region *provider.RegionError
		if _, err := p.Delete(t.Context(), &elsewhere); !errors.As(err, &region) {
			t.Errorf("not finding it in another region than the recorded one means nothing (T-1008): got %v", err)
		}
	})
}

func TestOwnerTag(t *testing.T) { // (S-213)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		p := New(Options{})
		r := w.request(t, workgroup, `{"Name":"w","Tags":[{"Key":"a","Value":"1"}]}`, "")
		r.OwnerTag = "0123"
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if live := w.live(t, workgroup, made.PhysicalID); !strings.Contains(live, provider.OwnerTagKey) {
			t.Errorf("the tag was not set: %s", live)
		}
		r.PhysicalID = made.PhysicalID
		read, err := p.Read(t.Context(), r)
		if err != nil || value.JSON(read.Value("Tags")) != `[{"Key":"a","Value":"1"}]` {
			t.Errorf("a read shows no tag of ours: got %s, %v", value.JSON(read), err)
		}
		w.Fail(emulator.Failure{Operation: "CREATE", Code: "UnauthorizedTaggingOperation", Message: "no ecr:TagResource"})
		r = w.request(t, workgroup, `{"Name":"v"}`, "")
		r.OwnerTag = "0123"
		var said error
		r.Untagged = func(denied error) { said = denied }
		if _, err := p.Create(t.Context(), r); err != nil || said == nil || !strings.Contains(said.Error(), "ecr:TagResource") {
			t.Errorf("tagging denied: want a create without the tag, got %v, and it was said that %v", err, said)
		}
	})
}

func TestErrorsTellWhoRefused(t *testing.T) { // (T-1011)
	for _, c := range []struct{ message, hint string }{
		{"denied (Service: Ecr, Status Code: 403, Request ID: 1)", "refused by Ecr"},
		{"denied (Service: CloudControl, Status Code: 403, Request ID: 1)", ""},
		{"bad (Service: Ecr, Status Code: 400, Request ID: 1)", ""},
	} {
		err := &FailedError{LogicalID: "Thing", Type: repository, Operation: types.OperationCreate, Message: c.message}
		if got := err.Error(); strings.Contains(got, "was refused by") != (c.hint != "") || !strings.Contains(got, c.hint) {
			t.Errorf("want the hint %q, got %s", c.hint, got)
		}
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		_, err := New(Options{}).Create(t.Context(), w.request(t, "AWS::No::Such", `{}`, ""))
		var unsupported *UnsupportedTypeError
		if !errors.As(err, &unsupported) {
			t.Errorf("want an UnsupportedTypeError, got %v", err)
		}
	})
}

func TestProtectionIsSwitchedOff(t *testing.T) { // (T-1009)
	for _, c := range []struct {
		typ, property string
		failures      int
		ok            bool
		took          time.Duration
	}{
		{"AWS::DSQL::Cluster", "DeletionProtectionEnabled", 0, true, 0},
		{"AWS::DSQL::Cluster", "DeletionProtectionEnabled", 1, false, 0},
		{"AWS::EC2::Instance", "DisableApiTermination", 2, true, 9 * time.Second},
		{"AWS::EC2::Instance", "DisableApiTermination", 9, false, 30 * time.Second},
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 0)
			id, err := w.Put(region, c.typ, map[string]any{c.property: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.failures > 0 {
				w.Fail(emulator.Failure{Operation: "UPDATE", Code: "InvalidRequest", Message: "not now", Times: c.failures})
			}
			r := w.request(t, c.typ, `{}`, "")
			r.PhysicalID = id
			if err := New(Options{}).Unprotect(t.Context(), r); (err == nil) != c.ok {
				t.Errorf("%s: want ok %t, got %v", c.typ, c.ok, err)
			}
			if on := w.Resource(region, c.typ, id)[c.property]; (fmt.Sprint(on) == "false") != c.ok {
				t.Errorf("%s: %s is %v", c.typ, c.property, on)
			}
			if took := time.Since(w.start).Round(time.Second); took != c.took {
				t.Errorf("%s: want it to take %s, took %s", c.typ, c.took, took)
			}
		})
	}
}
