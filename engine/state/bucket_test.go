package state

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/google/go-cmp/cmp"
)

func TestOpenAsksForTheRegionBesideTheAccount(t *testing.T) { // (S-14, S-17, T-1210)
	c := newCloud(t)
	asked, known := make(chan struct{}), make(chan struct{})
	c.on("GetBucketLocation", "", 0, 1, first(func() { close(asked); <-known }))
	s := open(t, c.overHTTP(t), func(o *Options) {
		o.Region = ""
		o.Account = func(context.Context) (string, error) {
			<-asked // deadlocks when one waits for the other
			close(known)
			return account, nil
		}
	})
	if s.Region() != "eu-west-1" || s.Bucket() != bucket || s.Prefix() != "cdkd" {
		t.Errorf("opened %s with prefix %s in %s", s.Bucket(), s.Prefix(), s.Region())
	}
	c.wantRequests(t, "GetBucketLocation")
	if _, err := s.Stack("Shop", "eu-west-1").Presence(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestBucketLocation(t *testing.T) { // (S-14)
	constraint := func(text string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Write([]byte(`<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` + text + `</LocationConstraint>`))
		}
	}
	for _, tt := range []struct {
		name string
		do   func(http.ResponseWriter, *http.Request, http.Handler)
		want string
	}{
		{"none is us-east-1", constraint(""), "us-east-1"},
		{"EU is eu-west-1", constraint("EU"), "eu-west-1"},
		{"others are themselves", constraint("ap-south-1"), "ap-south-1"},
		{"denied: the caller's region", answer(http.StatusForbidden, "AccessDenied"), "sa-east-1"},
		{"redirected: where to", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("x-amz-bucket-region", "eu-north-1")
			answer(http.StatusMovedPermanently, "PermanentRedirect")(w, r, next)
		}, "eu-north-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCloud(t)
			c.on("GetBucketLocation", "", 0, 0, tt.do)
			cfg := c.overHTTP(t)
			cfg.Region = "sa-east-1"
			s := open(t, cfg, func(o *Options) { o.Region = "" })
			if s.Region() != tt.want {
				t.Errorf("got %s, want %s", s.Region(), tt.want)
			}
		})
	}
}

func TestOpenSendsNothingWhenTheRegionIsKnown(t *testing.T) {
	c := newCloud(t)
	open(t, c.overHTTP(t))
	c.wantRequests(t)
}

func TestExpectedOwnerOnEveryRequest(t *testing.T) { // (S-17)
	c := newCloud(t)
	cfg := c.overHTTP(t)
	use := func(s *Store) {
		k := s.Stack("Shop", "eu-west-1")
		k.Presence(t.Context())
		k.Read(t.Context())
		l, err := k.Lock(t.Context(), LockOptions{Owner: "o", Operation: "deploy"})
		if err != nil {
			t.Fatal(err)
		}
		v := NewSaver(t.Context(), k, Absent, SaverOptions{})
		v.Save(rows(1))
		v.Flush(t.Context())
		k.Delete(t.Context(), v.ETag())
		l.Release(t.Context())
		k.PurgeLock(t.Context())
	}
	use(open(t, cfg))
	for i, owner := range c.owners {
		if owner != account {
			t.Errorf("%s expects owner %q", c.log[i], owner)
		}
	}
	c.requests()
	use(open(t, cfg, func(o *Options) {
		o.Account = func(context.Context) (string, error) { return "", errors.New("no such credentials") }
	}))
	for i, owner := range c.owners {
		if owner != "" {
			t.Errorf("%s expects owner %q although the account is not known", c.log[i], owner)
		}
	}
	c.AddBucket("foreign", "eu-west-1", "999999999999")
	_, _, err := open(t, cfg, func(o *Options) { o.Bucket = "foreign" }).Stack("Shop", "eu-west-1").Read(t.Context())
	as[*AccessError](t, err)
}

func TestErrorsNameBucketAndRemedy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edit    func(*Options)
		do      func(http.ResponseWriter, *http.Request, http.Handler)
		message []string
		remedy  []string
	}{
		{
			name:    "no such bucket (S-16)",
			edit:    func(o *Options) { o.Bucket = "nowhere" },
			message: []string{"there is no state bucket nowhere"},
			remedy:  []string{"bootstrap", "state-bucket", "CDKD_STATE_BUCKET", "cdk.json"},
		},
		{
			name:    "another region (S-15)",
			edit:    func(o *Options) { o.Region = "us-west-2" },
			message: []string{bucket, "eu-west-1"},
			remedy:  []string{"s3:GetBucketLocation"},
		},
		{
			name:    "denied is not absent (S-23)",
			do:      answer(http.StatusForbidden, "AccessDenied"),
			message: []string{bucket, recordKey, "denied"},
			remedy:  []string{"s3:GetObject", "s3:ListBucket"},
		},
		{
			name:    "anything else (S-15)",
			do:      answer(http.StatusTeapot, "Strange"),
			message: []string{bucket, recordKey, "Strange"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCloud(t)
			if tt.do != nil {
				c.on("GetObject", "", 0, 0, tt.do)
			}
			edit := tt.edit
			if edit == nil {
				edit = func(*Options) {}
			}
			r, _, err := open(t, c.overHTTP(t), edit).Stack("Shop", "eu-west-1").Read(t.Context())
			if err == nil || r != nil {
				t.Fatalf("read %v, %v", r, err)
			}
			for _, want := range append(tt.message, "stack Shop in eu-west-1") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q does not say %q", err, want)
				}
			}
			var advice interface{ Remedy() string }
			if tt.remedy != nil && !errors.As(err, &advice) {
				t.Fatalf("%T has no remedy", err)
			}
			for _, want := range tt.remedy {
				if !strings.Contains(advice.Remedy(), want) {
					t.Errorf("remedy %q does not say %q", advice.Remedy(), want)
				}
			}
		})
	}
}

func TestResolve(t *testing.T) { // (T-1201)
	const current, legacy = "cdkd-state-123456789012", "cdkd-state-123456789012-eu-west-1"
	for _, tt := range []struct {
		name   string
		wanted Wanted
		have   func(*cloud)
		want   Choice // its Notice is only whether there is one
		err    string
	}{
		{"the input first (S-10)", Wanted{"a", "b", "c"}, nil, Choice{"a", FromInput, ""}, ""},
		{"then the environment (S-10)", Wanted{"", "b", "c"}, nil, Choice{"b", FromEnvironment, ""}, ""},
		{"then cdk.json (S-10)", Wanted{"", "", "c"}, nil, Choice{"c", FromCDKJSON, ""}, ""},
		{
			"the default name (S-11)", Wanted{},
			func(c *cloud) { c.AddBucket(current, "us-east-1", "") },
			Choice{current, FromDefault, ""}, "",
		},
		{
			"the default name in another region (S-12)", Wanted{},
			func(c *cloud) { c.AddBucket(current, "eu-west-1", "") },
			Choice{current, FromDefault, ""}, "",
		},
		{
			"the default name, in a region that refuses another's signature (S-12)", Wanted{},
			func(c *cloud) {
				c.AddBucket(current, "eu-central-1", "")
				c.on("HeadBucket", "", 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if !strings.HasSuffix(r.URL.Path, "eu-west-1") {
						w.Header().Set("x-amz-bucket-region", "eu-central-1")
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					next.ServeHTTP(w, r)
				})
			},
			Choice{current, FromDefault, ""}, "",
		},
		{
			"the default name, denied (S-12)", Wanted{},
			func(c *cloud) { c.AddBucket(current, "us-east-1", "999999999999") },
			Choice{current, FromDefault, ""}, "",
		},
		{
			"only the legacy name (S-12)", Wanted{},
			func(c *cloud) { c.AddBucket(legacy, "eu-west-1", "") },
			Choice{legacy, FromLegacyDefault, "notice"}, "",
		},
		{
			"both, the new one used (S-12)", Wanted{},
			func(c *cloud) {
				c.AddBucket(current, "us-east-1", "")
				c.AddBucket(legacy, "eu-west-1", "")
				c.PutObject(current, "cdkd/Shop/eu-west-1/state.json", nil)
				c.PutObject(legacy, "cdkd/Shop/eu-west-1/state.json", nil)
			},
			Choice{current, FromDefault, ""}, "",
		},
		{
			"both, only the legacy one used (S-12)", Wanted{},
			func(c *cloud) {
				c.AddBucket(current, "us-east-1", "")
				c.AddBucket(legacy, "eu-west-1", "")
				c.PutObject(legacy, "cdkd/Shop/eu-west-1/state.json", nil)
			},
			Choice{legacy, FromLegacyDefault, "notice"}, "",
		},
		{"neither (S-12)", Wanted{}, nil, Choice{}, "neither " + current + " nor " + legacy + " exists"},
		{
			"anything else fails (S-12)", Wanted{},
			func(c *cloud) { c.on("HeadBucket", "", 0, 0, answer(http.StatusTeapot, "Strange")) },
			Choice{}, "look for",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cloud{Server: newEmptyS3(t)}
			if tt.have != nil {
				tt.have(c)
			}
			cfg := c.overHTTP(t)
			cfg.Region = "eu-west-1"
			got, err := Resolve(t.Context(), cfg, tt.wanted, fixedAccount)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (got.Notice != "") != (tt.want.Notice != "") {
				t.Errorf("notice %q", got.Notice)
			}
			if got.Notice != "" && !strings.Contains(got.Notice, "cdkd state migrate --region eu-west-1") {
				t.Errorf("notice %q does not say how to migrate", got.Notice)
			}
			got.Notice, tt.want.Notice = "", ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.wanted != (Wanted{}) && len(c.requests()) > 0 {
				t.Error("a bucket that was named was looked for")
			}
		})
	}
}

func TestResolveWithoutCredentials(t *testing.T) {
	c := newCloud(t)
	_, err := Resolve(t.Context(), c.overHTTP(t), Wanted{}, func(context.Context) (string, error) {
		return "", errors.New("no credentials")
	})
	if err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("got %v", err)
	}
}

// What a deploy of an unchanged stack asks of the bucket, and in what order
// (S-412, S-413).
func TestRequestsOfANoChangeDeploy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t)
		c.PutObject(bucket, recordKey, testdata(t, "messaging/state.json"))
		s := open(t, c.inProcess(), func(o *Options) { o.Region = "" })
		k := s.Stack("Shop", "eu-west-1")
		l, err := k.Lock(t.Context(), LockOptions{Owner: "o", Operation: "deploy"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.Presence(t.Context())
		if err != nil || !p.Record || p.Journal {
			t.Fatalf("found %+v, %v", p, err)
		}
		if _, _, err := k.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		run := k.StartRun(t.Context(), RunOptions{ID: "20260102T030405678Z-00000000", Command: "deploy"})
		run.Finish(t.Context(), Succeeded, &Counts{}, nil)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(c.requests()); got != 8 {
			t.Errorf("%d requests, want 8", got)
		}
	})
}

func TestConnectionsOfItsOwn(t *testing.T) { // (S-431)
	shared := awshttp.NewBuildableClient()
	if ownPool(aws.Config{HTTPClient: shared}).HTTPClient == aws.HTTPClient(shared) {
		t.Error("the store shares its connections with what provisions")
	}
}
