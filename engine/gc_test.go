package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/internal/sandbox"
)

func hash(digit string) string { return strings.Repeat(digit, 64) }

// Assets that nothing in the state bucket names are deleted, those that anything
// names stay (S-330, S-331).
func TestGC(t *testing.T) {
	const assets, repository = "cdkd-assets-123456789012-us-east-1", "cdkd-container-assets-123456789012-us-east-1"
	record := func(asset string) string {
		return fmt.Sprintf(`{"version": 11, "stackName": "A", "region": "us-east-1", "resources": {"F": {"physicalId": "f", "resourceType": "AWS::Lambda::Function", "properties": {"Code": {"S3Key": %q}}}}, "lastModified": 1}`, asset)
	}
	pending := func(asset string) string {
		return fmt.Sprintf(`{"pendingVersion": 1, "stackName": "D", "region": "us-east-1", "operations": [{"logicalId": "F", "resourceType": "AWS::Lambda::Function", "changeType": "CREATE", "stage": "sent", "startedAt": 1, "properties": {"Code": {"S3Key": %q}}}]}`, asset)
	}
	setup := func(t *testing.T) (*engine.Engine, *sandbox.Sandbox, func() []string) {
		e, cloud := newEngine(t)
		if _, err := e.Bootstrap(t.Context(), engine.BootstrapOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{hash("a") + ".zip", hash("b") + ".zip", hash("c") + ".zip", "named/by hand.json", "nobody's.json"} {
			cloud.S3.PutObject(assets, key, []byte("code"))
		}
		c := ecr.NewFromConfig(cloud.Config())
		for _, tag := range []string{hash("d"), hash("e")} {
			if _, err := c.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: aws.String(repository), ImageTag: &tag,
				ImageManifest: aws.String(`{"schemaVersion": 2, "config": {"digest": "` + tag + `"}}`)}); err != nil {
				t.Fatal(err)
			}
		}
		cloud.S3.PutObject(bucket, "other/A/us-east-1/state.json", []byte(record(hash("a")+".zip")))
		cloud.S3.PutObject(bucket, "cdkd/B/us-east-1/state.json", []byte(strings.Replace(record("1.dkr.ecr.us-east-1.amazonaws.com/"+repository+":"+hash("d")), "S3Key", "ImageUri", 1)))
		cloud.S3.PutObject(bucket, "cdkd/C/us-east-1/state.json", []byte(record("named/by hand.json")))
		cloud.S3.PutObject(bucket, "cdkd/D/us-east-1/pending.json", []byte(pending(hash("b")+".zip")))
		cloud.ClearLog()
		return e, cloud, func() (left []string) {
			for _, o := range cloud.S3.Objects(assets) {
				left = append(left, o.Key)
			}
			images, err := c.ListImages(t.Context(), &ecr.ListImagesInput{RepositoryName: aws.String(repository)})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range images.ImageIds {
				left = append(left, aws.ToString(i.ImageTag))
			}
			slices.Sort(left)
			return left
		}
	}
	all := []string{hash("a") + ".zip", hash("b") + ".zip", hash("c") + ".zip", hash("d"), hash("e"), "named/by hand.json", "nobody's.json"}
	named := []string{hash("a") + ".zip", hash("b") + ".zip", hash("d"), "named/by hand.json"}
	old := engine.GCOptions{OlderThan: time.Nanosecond}

	for rule, c := range map[string]struct {
		opt     engine.GCOptions
		before  func(*sandbox.Sandbox)
		left    []string
		garbage int
		err     string
	}{
		"what nothing names goes":            {opt: old, left: named, garbage: 3},
		"a dry run deletes nothing":          {opt: engine.GCOptions{OlderThan: time.Nanosecond, DryRun: true}, left: all, garbage: 3},
		"what is younger than 30 days stays": {left: all},
		"what is declined stays":             {opt: engine.GCOptions{OlderThan: time.Nanosecond, Consent: func(engine.Collected) bool { return false }}, left: all, garbage: 3},
		"a lock refuses, under whatever prefix, and expired": {opt: old, left: all, err: "GC_LOCKED", before: func(s *sandbox.Sandbox) {
			s.S3.PutObject(bucket, "other/A/us-east-1/lock.json", []byte(`{"owner": "o", "timestamp": 1, "expiresAt": 2}`))
		}},
		"a lock that is taken while somebody is asked refuses": {left: all, err: "GC_LOCKED"},
		"a record that cannot be understood refuses": {opt: old, left: all, err: "E/us-east-1/state.json", before: func(s *sandbox.Sandbox) {
			s.S3.PutObject(bucket, "cdkd/E/us-east-1/state.json", []byte(`{`))
		}},
		"so do open operations": {opt: old, left: all, err: "E/us-east-1/pending.json", before: func(s *sandbox.Sandbox) {
			s.S3.PutObject(bucket, "cdkd/E/us-east-1/pending.json", []byte(`[]`))
		}},
		"a bucket that may not be listed refuses": {opt: old, left: all, err: "another account's", before: func(s *sandbox.Sandbox) {
			s.AddFault(sandbox.Fault{Service: "s3", Action: "ListObjectsV2", Mentions: assets, Status: 403, Code: "AccessDenied"})
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			e, cloud, left := setup(t)
			if c.before != nil {
				c.before(cloud)
			}
			if strings.HasPrefix(rule, "a lock that is taken") {
				c.opt = engine.GCOptions{OlderThan: time.Nanosecond, Consent: func(engine.Collected) bool {
					cloud.S3.PutObject(bucket, "cdkd/A/us-east-1/lock.json", []byte(`{"owner": "o", "timestamp": 1, "expiresAt": 2}`))
					return true
				}}
			}
			got, err := e.GC(t.Context(), c.opt)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got error %v, want one of %q", err, c.err)
			}
			if len(got.Garbage) != c.garbage {
				t.Errorf("%d assets are garbage, want %d: %+v", len(got.Garbage), c.garbage, got.Garbage)
			}
			if diff := cmp.Diff(c.left, left()); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}

	for what, c := range map[string]struct {
		fault sandbox.Fault
		page  guide.Page
	}{
		"the account's buckets may not be listed": {sandbox.Fault{Service: "s3", Action: "ListBuckets", Status: 403, Code: "AccessDenied"}, guide.InUse},
		"one of them may not be looked into":      {sandbox.Fault{Service: "s3", Action: "ListObjectsV2", Mentions: "another", Status: 403, Code: "AccessDenied"}, guide.InUse},
		"nor may the state bucket":                {sandbox.Fault{Service: "s3", Action: "ListObjectsV2", Mentions: bucket, Status: 403, Code: "AccessDenied"}, guide.StateBucketDenied},
		"an object may not be deleted": {sandbox.Fault{Service: "s3", Action: "DeleteObjects", Replace: [2]string{"</DeleteResult>",
			"<Error><Key>nobody's.json</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error></DeleteResult>"}}, guide.AccessDenied},
	} {
		t.Run(what, func(t *testing.T) {
			e, cloud, _ := setup(t)
			cloud.S3.AddBucket("another", "us-east-1", "")
			cloud.AddFault(c.fault)
			if _, err := e.GC(t.Context(), old); err == nil || engine.Page(err) != c.page {
				t.Errorf("page %q of error %v, want %q", engine.Page(err), err, c.page)
			}
		})
	}

	t.Run("at most 1,000 objects go at once", func(t *testing.T) {
		e, cloud, _ := setup(t)
		for i := range 2001 {
			cloud.S3.PutObject(assets, fmt.Sprintf("more/%d", i), nil)
		}
		if _, err := e.GC(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		deletes := 0
		for _, r := range cloud.Log() {
			if r.Action == "DeleteObjects" {
				deletes++
			}
		}
		if deletes != 3 {
			t.Errorf("2,003 objects went with %d requests, want 3", deletes)
		}
	})

	t.Run("a region without asset storage has no garbage", func(t *testing.T) {
		e, cloud := newEngine(t)
		got, err := e.GC(t.Context(), old)
		if err != nil || got.Storage != nil {
			t.Errorf("got %+v, %v", got, err)
		}
		for _, r := range cloud.Log() {
			if strings.HasPrefix(r.Action, "Delete") {
				t.Errorf("%s was asked", r.Action)
			}
		}
	})
}
