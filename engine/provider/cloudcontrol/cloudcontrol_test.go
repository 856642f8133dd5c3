package cloudcontrol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
	emulator "github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

const (
	repository = "AWS::ECR::Repository"
	secret     = "AWS::SecretsManager::Secret"
	workgroup  = "AWS::Athena::WorkGroup"
	region     = "eu-west-1"
)

// A world is Cloud Control in the bubble of a test, so that minutes of polling
// take none. It is reached by the SDK's own client.
type world struct {
	*emulator.Server
	session *provider.Session
	start   time.Time

	mu    sync.Mutex
	calls []call
	// fail, when set, may answer a call in the emulator's place: status 0 is the
	// emulator's own answer, -1 no answer at all.
	fail func(action string, nth int) int
}

type call struct {
	action string
	at     time.Duration
	body   *value.Object
}

func newWorld(t *testing.T, delay time.Duration) *world {
	w := &world{Server: emulator.New(emulator.Options{Region: region, Delay: delay}), start: time.Now()}
	w.session = &provider.Session{Config: aws.Config{
		Region: region, HTTPClient: w, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	}}
	return w
}

// Do implements aws.HTTPClient.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body, err := value.ParseObject(text)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	nth := 0
	for _, c := range w.calls {
		if c.action == action {
			nth++
		}
	}
	w.calls = append(w.calls, call{action, time.Since(w.start), body})
	fail := w.fail
	w.mu.Unlock()
	answer := httptest.NewRecorder()
	if fail != nil {
		if status := fail(action, nth); status < 0 {
			return nil, &timeoutError{}
		} else if status > 0 {
			answer.WriteHeader(status)
			return answer.Result(), nil
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.RequestURI = "/"
	w.ServeHTTP(answer, r)
	return answer.Result(), nil
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "dial tcp: cannot assign requested address" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// times are the instants of an action's calls, in seconds.
func (w *world) times(action string) []float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var at []float64
	for _, c := range w.calls {
		if c.action == action {
			at = append(at, c.at.Round(time.Millisecond).Seconds())
		}
	}
	return at
}

func (w *world) bodies(action string) []*value.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*value.Object
	for _, c := range w.calls {
		if c.action == action {
			all = append(all, c.body)
		}
	}
	return all
}

func (w *world) request(t *testing.T, typeName, props, previous string) *provider.Request {
	t.Helper()
	r := &provider.Request{
		Session: w.session, LogicalID: "Thing", Type: typeName, Properties: object(t, props),
		Stack:  provider.Stack{Name: "Shop", Region: region, AccountID: "123456789012", Partition: "aws"},
		Notice: func(text string) { t.Log("notice: " + text) },
	}
	if previous != "" {
		r.Previous = object(t, previous)
	}
	return r
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) live(t *testing.T, typeName, id string) string {
	t.Helper()
	text, err := json.Marshal(w.Resource(region, typeName, id))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

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

func TestStatusIsReadOnSchedule(t *testing.T) { // (T-1020)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 45*time.Second)
		if _, err := New(Options{}).Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, "")); err != nil {
			t.Fatal(err)
		}
		want := []float64{0, 0.25, 0.5, 1, 2.5, 4.75, 8.125, 13.188, 20.783, 30.783, 40.783, 50.783}
		if diff := cmp.Diff(want, w.times("GetResourceRequestStatus")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOutageWhilePolling(t *testing.T) {
	for _, c := range []struct {
		rule  string
		until int // status reads that fail, from the second on
		how   int
		ok    bool
		reads []float64
	}{
		{"no network for a while: the same request is followed on (T-1023)", 5, -1, true, []float64{0, 0.25, 2.25, 6.25, 14.25, 24.25}},
		{"server errors count too (T-1024)", 3, 500, true, []float64{0, 0.25, 2.25, 6.25}},
		{"throttling too (T-1024)", 3, 429, true, []float64{0, 0.25, 2.25, 6.25}},
		{"two minutes are the limit (T-1023)", 1000, -1, false, []float64{0, 0.25, 2.25, 6.25, 14.25, 24.25, 34.25, 44.25, 54.25, 64.25, 74.25, 84.25, 94.25, 104.25, 114.25, 124.25}},
		{"a refusal is no outage (T-1024)", 1000, 400, false, []float64{0, 0.25}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, time.Second)
				w.fail = func(action string, nth int) int {
					if action == "GetResourceRequestStatus" && nth > 0 && nth < c.until {
						return c.how
					}
					return 0
				}
				_, err := New(Options{}).Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, ""))
				if (err == nil) != c.ok {
					t.Errorf("want success %t, got %v", c.ok, err)
				}
				if err != nil && (retry.Classifier{}).Of(err) != retry.Final {
					t.Errorf("an operation that may still be working must not be sent again: %v", err)
				}
				if diff := cmp.Diff(c.reads, w.times("GetResourceRequestStatus")); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDrainingLetsTheWaitGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, time.Hour)
		draining := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(draining) })
		r := w.request(t, workgroup, `{"Name":"w"}`, "")
		r.Draining, r.Token = draining, "token-1"
		_, err := New(Options{}).Create(t.Context(), r)
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, provider.ErrDraining) {
			t.Fatalf("want an OpenError that is ErrDraining, got %v", err)
		}
		if time.Since(w.start) != 3*time.Second {
			t.Errorf("want the wait to end at 3s, it ended at %s", time.Since(w.start))
		}
		if open.RequestToken == "" || open.ClientToken != "token-1" || open.Operation != types.OperationCreate || open.Identifier != "w" {
			t.Errorf("what a later run needs is missing: %+v", open)
		}
		// A later run follows the same request.
		w.SetDelay(0)
		r.Draining = nil
		id, err := New(Options{}).Settle(t.Context(), r, open.RequestToken, open.Operation, 2*time.Hour)
		if err != nil || id != "w" {
			t.Errorf("settle: want w, got %q, %v", id, err)
		}
	})
}

func TestDeadlineCancels(t *testing.T) { // (T-1022, T-1025)
	for typeName, limit := range map[string]time.Duration{workgroup: 15 * time.Minute, "AWS::EKS::Cluster": 30 * time.Minute} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 100*time.Hour)
			props := `{"Name":"w"}`
			if typeName != workgroup {
				props = `{"Name":"w","RoleArn":"arn:r","ResourcesVpcConfig":{"SubnetIds":["s"]}}`
			}
			_, err := New(Options{}).Create(t.Context(), w.request(t, typeName, props, ""))
			var late *TimeoutError
			if !errors.As(err, &late) || time.Since(w.start) != limit {
				t.Errorf("%s: want a TimeoutError after %s, got %v after %s", typeName, limit, err, time.Since(w.start))
			}
			if len(w.times("CancelResourceRequest")) != 1 {
				t.Errorf("%s: the request was not cancelled", typeName)
			}
			if (retry.Classifier{}).Of(err) != retry.Final {
				t.Errorf("%s: what ran out of time must not be sent again", typeName)
			}
		})
	}
}

func TestFailedCreates(t *testing.T) {
	for _, c := range []struct {
		rule     string
		failure  emulator.Failure
		recorded bool
		deleted  bool
		class    retry.Class
	}{
		{"a remnant is deleted (T-1002)", emulator.Failure{Code: "NotStabilized", Remnant: true}, false, true, retry.Transient},
		{"not when the record has it (T-1003)", emulator.Failure{Code: "NotStabilized", Remnant: true}, true, false, retry.Transient},
		{"not when it was there before (T-1002)", emulator.Failure{Code: "AlreadyExists", Message: "taken", Remnant: true}, false, false, retry.Collision},
		{"not on a conflict (T-1002)", emulator.Failure{Code: "ResourceConflict", Remnant: true}, false, false, retry.Transient},
		{"throttled (T-1012)", emulator.Failure{Code: "Throttling"}, false, false, retry.Throttle},
		{"a quota is final (T-1012)", emulator.Failure{Code: "ServiceLimitExceeded", Message: "Rate exceeded"}, false, false, retry.Final},
		{"bad input is final (T-1012)", emulator.Failure{Code: "InvalidRequest", Message: "no such shape"}, false, false, retry.Final},
		{"bad input that is a role not seen yet (T-1012)", emulator.Failure{Code: "InvalidRequest", Message: "The role cannot be assumed"}, false, false, retry.Propagation},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, time.Second)
				c.failure.Operation = "CREATE"
				w.Fail(c.failure)
				p := New(Options{Recorded: func(s provider.Stack, typeName, id string) bool { return c.recorded && id == "w" }})
				_, err := p.Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, ""))
				var failed *FailedError
				if !errors.As(err, &failed) {
					t.Fatalf("want a FailedError, got %v", err)
				}
				if !strings.HasPrefix(err.Error(), "CREATE failed for Thing: ") {
					t.Errorf("text (T-1011): %s", err)
				}
				if got := (retry.Classifier{}).Of(err); got != c.class {
					t.Errorf("class: want %s, got %s", c.class, got)
				}
				if got := len(w.times("DeleteResource")) > 0; got != c.deleted {
					t.Errorf("remnant deleted: want %t, got %t", c.deleted, got)
				}
			})
		})
	}
}

func TestAttemptsAfterAFailureHaveTokensOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, time.Second)
		w.Fail(emulator.Failure{Operation: "CREATE", Code: "Throttling", Times: 2})
		r := w.request(t, workgroup, `{"Name":"w"}`, "")
		r.Token = "tok"
		create := func(p *Provider) error {
			return retry.Do(t.Context(), retry.ForCreate(retry.Classifier{}), retry.Task{}, func(ctx context.Context) error {
				_, err := p.Create(ctx, r)
				return err
			})
		}
		if err := create(New(Options{})); err != nil {
			t.Fatal(err)
		}
		// Another run walks the same tokens to the same resource.
		if err := create(New(Options{})); err != nil {
			t.Fatal(err)
		}
		var tokens []string
		for _, b := range w.bodies("CreateResource") {
			tokens = append(tokens, b.String("ClientToken"))
		}
		if diff := cmp.Diff([]string{"tok", "tok-1", "tok-2", "tok", "tok-1", "tok-2"}, tokens); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(w.Resources()); n != 1 {
			t.Errorf("want one resource, got %d", n)
		}
	})
}

func TestUpdates(t *testing.T) {
	for _, c := range []struct {
		rule, typeName, previous, want string
		patch                          string
		partial                        bool
	}{
		{"added, changed and removed (T-1004)", workgroup, `{"Name":"w","Description":"a","State":"ENABLED"}`, `{"Name":"w","Description":"b","RecursiveDeleteOption":true}`,
			`[{"op":"replace","path":"/Description","value":"b"},{"op":"add","path":"/RecursiveDeleteOption","value":true},{"op":"remove","path":"/State"}]`, false},
		{"nothing to do: no call (T-1004)", repository, `{"RepositoryName":"w","ImageScanningConfiguration":{"ScanOnPush":"true"}}`, `{"RepositoryName":"w","ImageScanningConfiguration":{"ScanOnPush":true}}`, ``, false},
		{"what cannot be read back is added again (T-1004)", secret, `{"Name":"s","Description":"a","SecretString":"x"}`, `{"Name":"s","Description":"b","SecretString":"x"}`,
			`[{"op":"replace","path":"/Description","value":"b"},{"op":"add","path":"/SecretString","value":"x"}]`, false},
		{"what cannot be read back cannot be removed (T-1005)", secret, `{"Name":"s","SecretString":"x"}`, `{"Name":"s"}`, ``, true},
		{"create-only properties are not named (T-1005)", workgroup, `{"Name":"w","Description":"a"}`, `{"Description":"b"}`,
			`[{"op":"replace","path":"/Description","value":"b"}]`, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 0)
				p := New(Options{})
				r := w.request(t, c.typeName, c.previous, "")
				made, err := p.Create(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				r.PhysicalID, r.Previous, r.Properties = made.PhysicalID, r.Properties, object(t, c.want)
				out, err := p.Update(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				var patch string
				if b := w.bodies("UpdateResource"); len(b) > 0 {
					patch = b[0].String("PatchDocument")
				}
				if diff := cmp.Diff(c.patch, patch); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
				if (out.Partial != "") != c.partial {
					t.Errorf("partial: want %t, got %q", c.partial, out.Partial)
				}
			})
		})
	}
}

func TestUpdateReadsTheLiveModelWhenItHasParted(t *testing.T) { // (T-1007)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		id, err := w.Put(region, workgroup, map[string]any{"Name": "w", "Description": "a"})
		if err != nil {
			t.Fatal(err)
		}
		// State is recorded, but somebody took it away.
		r := w.request(t, workgroup, `{"Name":"w","Description":"b"}`, `{"Name":"w","Description":"a","State":"ENABLED"}`)
		r.PhysicalID = id
		if _, err := New(Options{}).Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		patches := w.bodies("UpdateResource")
		if last := patches[len(patches)-1].String("PatchDocument"); len(patches) != 2 || last != `[{"op":"replace","path":"/Description","value":"b"}]` {
			t.Errorf("want a second patch from the live model, got %d, the last %s", len(patches), last)
		}
	})
}

func TestNotUpdatableMeansReplacement(t *testing.T) { // (T-1012)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		id, err := w.Put(region, workgroup, map[string]any{"Name": "w", "Description": "a"})
		if err != nil {
			t.Fatal(err)
		}
		w.Fail(emulator.Failure{Operation: "UPDATE", Code: "NotUpdatable", Message: "no", Times: 9})
		r := w.request(t, workgroup, `{"Name":"w","Description":"b"}`, `{"Name":"w","Description":"a"}`)
		r.PhysicalID = id
		_, err = New(Options{}).Update(t.Context(), r)
		var refused *provider.UnsupportedUpdateError
		if !errors.As(err, &refused) {
			t.Fatalf("want an UnsupportedUpdateError, got %v", err)
		}
		if diff := cmp.Diff([]string{"Description"}, refused.Properties); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
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
		if _, err := p.Create(t.Context(), r); err != nil {
			t.Errorf("tagging denied: want a create without the tag, got %v", err)
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
