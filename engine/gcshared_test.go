package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// What stacks of another state bucket name is theirs: bootstrap gives all state
// buckets of an account the same storage in a region (S-330, S-322, T-130).
func TestStorageThatStateBucketsShare(t *testing.T) {
	const (
		assets = "cdkd-assets-123456789012-us-east-1"
		other  = "state-of-others"
	)
	mine, theirs, nobodys := hash("a")+".zip", hash("b")+".zip", hash("c")+".zip"
	record := func(asset string) []byte {
		return []byte(`{"version": 11, "stackName": "A", "region": "us-east-1", "resources": {"F": {"physicalId": "f", "resourceType": "AWS::Lambda::Function", ` +
			`"properties": {"Code": {"S3Bucket": "` + assets + `", "S3Key": "` + asset + `"}}}}, "lastModified": 1}`)
	}
	setup := func(t *testing.T) (*engine.Engine, *sandbox.Sandbox) {
		e, cloud := newEngine(t)
		cloud.S3.AddBucket(other, "eu-west-1", "")
		for _, bootstrapped := range []string{bucket, other} {
			c := configOn(t, cloud)
			c.Bucket = state.Wanted{Input: bootstrapped}
			if _, err := engine.New(c).Bootstrap(t.Context(), engine.BootstrapOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{mine, theirs, nobodys} {
			cloud.S3.PutObject(assets, key, []byte("code"))
		}
		cloud.S3.PutObject(bucket, "cdkd/A/us-east-1/state.json", record(mine))
		cloud.S3.PutObject(other, "team/A/us-east-1/state.json", record(theirs))
		cloud.S3.AddBucket("pictures", "us-east-1", "")
		cloud.S3.PutObject("pictures", "cat.webp", nil)
		cloud.S3.AddBucket("elsewhere", "us-east-1", "")
		cloud.S3.PutObject("elsewhere", "cdkd-bootstrap/us-east-1.json", []byte(`{"assetBucket": "own", "containerRepo": "own", "assetSupportVersion": 1}`))
		cloud.S3.PutObject("elsewhere", "cdkd/A/us-east-1/state.json", []byte(`not even a record`))
		return e, cloud
	}
	left := func(cloud *sandbox.Sandbox) (keys []string) {
		for _, o := range cloud.S3.Objects(assets) {
			keys = append(keys, o.Key)
		}
		slices.Sort(keys)
		return keys
	}
	deny := func(action, mentions string) func(*sandbox.Sandbox) {
		return func(s *sandbox.Sandbox) {
			s.AddFault(sandbox.Fault{Service: "s3", Action: action, Mentions: mentions, Status: 403, Code: "AccessDenied"})
		}
	}
	all := []string{mine, theirs, nobodys}
	nothing := []byte(`{"version": 11, "stackName": "A", "region": "us-east-1", "resources": {}, "lastModified": 1}`)

	for rule, c := range map[string]struct {
		before  func(*sandbox.Sandbox)
		trusted bool // SharedByNone
		left    []string
		by      []string
		err     string
		remedy  bool
	}{
		"what another state bucket's stacks name stays": {left: []string{mine, theirs}, by: []string{other}},
		"a lock in the other one refuses, and says where it is": {left: all, by: []string{other}, err: "s3://state-of-others/team/A/us-east-1/lock.json",
			before: func(s *sandbox.Sandbox) {
				s.S3.PutObject(other, "team/A/us-east-1/lock.json", []byte(`{"owner": "o", "timestamp": 1, "expiresAt": 2}`))
			}},
		"a record of the other one that cannot be understood refuses": {left: all, by: []string{other}, err: "state bucket state-of-others: team/B",
			before: func(s *sandbox.Sandbox) { s.S3.PutObject(other, "team/B/us-east-1/state.json", []byte(`{`)) }},
		"a bucket that may not be listed refuses":    {left: all, err: "(pictures)", remedy: true, before: deny("ListObjectsV2", "pictures")},
		"unless nobody shares, as was said":          {left: []string{mine, theirs}, by: []string{other}, trusted: true, before: deny("ListObjectsV2", "pictures")},
		"a marker that may not be read refuses":      {left: all, err: "(elsewhere)", remedy: true, before: deny("GetObject", "elsewhere")},
		"a marker that cannot be understood refuses": {left: all, err: "(elsewhere)", remedy: true, before: func(s *sandbox.Sandbox) { s.S3.PutObject("elsewhere", "cdkd-bootstrap/eu-west-1.json", []byte(`{`)) }},
		"buckets that may not be listed refuse":      {left: all, err: "could not be listed", remedy: true, before: deny("ListBuckets", "")},
		"with that said, what the default bucket's stacks name stays": {left: []string{mine, theirs}, by: []string{"cdkd-state-123456789012"}, trusted: true,
			before: func(s *sandbox.Sandbox) {
				deny("ListBuckets", "")(s)
				s.S3.AddBucket("cdkd-state-123456789012", "us-east-1", "")
				for _, key := range []string{"cdkd-bootstrap/us-east-1.json", "team/A/us-east-1/state.json"} {
					o, _ := s.S3.Object(other, key)
					s.S3.PutObject("cdkd-state-123456789012", key, o.Body)
				}
			}},
		"no word given covers an answer that did not come": {left: all, err: "look for state buckets", trusted: true, before: func(s *sandbox.Sandbox) {
			s.AddFault(sandbox.Fault{Service: "s3", Action: "ListObjectsV2", Mentions: "pictures", Status: 500, Code: "InternalError"})
		}},
	} {
		t.Run("gc: "+rule, func(t *testing.T) {
			e, cloud := setup(t)
			if c.before != nil {
				c.before(cloud)
			}
			got, err := e.GC(t.Context(), engine.GCOptions{OlderThan: time.Nanosecond, SharedByNone: c.trusted})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got error %v, want one of %q", err, c.err)
			}
			storage, _ := errors.AsType[*engine.StorageError](err)
			if told := storage != nil && strings.Contains(storage.Remedy(), "no-other-state-bucket"); told != c.remedy {
				t.Errorf("the remedy of %v names the input: %t, want %t", err, told, c.remedy)
			}
			if diff := cmp.Diff(c.by, got.SharedBy); diff != "" {
				t.Errorf("who shares (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.left, left(cloud)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("bootstrap with destroy leaves it to the other state bucket, and the last one deletes it", func(t *testing.T) {
		e, cloud := setup(t)
		cloud.S3.PutObject(bucket, "cdkd/A/us-east-1/state.json", nothing)
		got, err := e.Dismantle(t.Context(), engine.DismantleOptions{})
		if err != nil || !slices.Equal(got.SharedBy, []string{other}) {
			t.Fatalf("got %+v, %v", got, err)
		}
		if diff := cmp.Diff(all, left(cloud)); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
		if _, there := cloud.S3.Object(bucket, "cdkd-bootstrap/us-east-1.json"); there {
			t.Error("the marker is still there")
		}
		cloud.S3.PutObject(other, "team/A/us-east-1/state.json", nothing)
		c := configOn(t, cloud)
		c.Bucket = state.Wanted{Input: other}
		if got, err := engine.New(c).Dismantle(t.Context(), engine.DismantleOptions{}); err != nil || got.SharedBy != nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		if slices.Contains(cloud.S3.Buckets(), assets) {
			t.Error("the asset bucket is still there")
		}
	})
	t.Run("the state bucket does not hold assets", func(t *testing.T) {
		e, cloud := setup(t)
		if _, err := e.Bootstrap(t.Context(), engine.BootstrapOptions{AssetBucket: bucket}); !errors.As(err, new(*engine.InputError)) {
			t.Errorf("bootstrap: got error %v", err)
		}
		cloud.S3.PutObject(bucket, "cdkd-bootstrap/us-east-1.json", []byte(`{"assetBucket": "`+bucket+`", "containerRepo": "own", "assetSupportVersion": 1}`))
		if _, err := e.GC(t.Context(), engine.GCOptions{OlderThan: time.Nanosecond}); !errors.As(err, new(*engine.StorageError)) {
			t.Errorf("gc: got error %v", err)
		}
	})
	t.Run("bootstrap with destroy refuses where that cannot be told", func(t *testing.T) {
		e, cloud := setup(t)
		cloud.S3.PutObject(bucket, "cdkd/A/us-east-1/state.json", nothing)
		deny("ListBuckets", "")(cloud)
		if _, err := e.Dismantle(t.Context(), engine.DismantleOptions{}); !errors.As(err, new(*engine.StorageError)) {
			t.Errorf("got error %v", err)
		}
		if diff := cmp.Diff(all, left(cloud)); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}
