package state

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const oldBucket = bucket + "-eu-west-1"

// moving is a cloud with an old bucket, and a way to migrate it.
func moving(t *testing.T) (*cloud, func(edit ...func(*MigrateOptions)) (Migrated, error)) {
	c := &cloud{Server: newEmptyS3(t)}
	c.AddBucket(oldBucket, "eu-west-1", "")
	cfg := c.overHTTP(t)
	cfg.Region = "eu-west-1"
	for _, key := range oldKeys {
		c.PutObject(oldBucket, key, []byte("body of "+key))
	}
	return c, func(edit ...func(*MigrateOptions)) (Migrated, error) {
		opt := MigrateOptions{From: oldBucket, To: bucket, AccountID: account}
		for _, e := range edit {
			e(&opt)
		}
		return Migrate(t.Context(), cfg, opt)
	}
}

var oldKeys = []string{
	"_cdkd-registry/eu-west-1/Shop.json", "cdkd-bootstrap/eu-west-1.json", "/Shop/eu-west-1/state.json",
	"cdkd/Shop/eu-west-1/state.json", "cdkd/Shop~Part/eu-west-1/state.json", "te am+ü%/Shop/eu-west-1/state.json",
}

func keysOf(c *cloud, bucket string) (keys []string) {
	for _, o := range c.Objects(bucket) {
		keys = append(keys, o.Key)
	}
	return keys
}

func TestMigrateCopiesEverything(t *testing.T) { // (S-314)
	c, migrate := moving(t)
	got, err := migrate()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Migrated{From: oldBucket, To: bucket, Region: "eu-west-1", Objects: 6, Copied: 6, Created: true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, key := range oldKeys {
		if o, ok := c.Object(bucket, key); !ok || string(o.Body) != "body of "+key {
			t.Errorf("%q in the new bucket: %t, %s", key, ok, o.Body)
		}
		if _, ok := c.Object(oldBucket, key); !ok {
			t.Errorf("%q is gone from the old bucket", key)
		}
	}
	if got, err = migrate(); err != nil || got.Copied != 0 || got.Created {
		t.Errorf("again: %+v, %v", got, err)
	}
}

func TestMigrateDryRunWritesNothing(t *testing.T) { // (S-314)
	c, migrate := moving(t)
	got, err := migrate(func(o *MigrateOptions) { o.DryRun, o.Remove = true, true })
	if err != nil || got.Copied != 6 || !got.Created || got.Removed {
		t.Errorf("%+v, %v", got, err)
	}
	if b := c.Buckets(); !slices.Equal(b, []string{oldBucket}) {
		t.Errorf("buckets %q", b)
	}
}

func TestMigrateRefuses(t *testing.T) { // (S-314)
	t.Run("while there is a lock, expired or not", func(t *testing.T) {
		c, migrate := moving(t)
		c.PutObject(oldBucket, "other/Shop/eu-west-1/lock.json", []byte(`{"expiresAt": 0}`))
		_, err := migrate()
		if e := as[*BucketLockedError](t, err); !slices.Equal(e.Keys, []string{"other/Shop/eu-west-1/lock.json"}) {
			t.Errorf("locks %q", e.Keys)
		}
		if len(c.Buckets()) > 1 {
			t.Error("the new bucket was made")
		}
	})
	t.Run("what is there and differs, before it copies anything", func(t *testing.T) {
		c, migrate := moving(t)
		c.AddBucket(bucket, "eu-west-1", "")
		c.PutObject(bucket, oldKeys[3], []byte("newer"))
		c.PutObject(bucket, oldKeys[4], []byte("body of "+oldKeys[4]))
		_, err := migrate()
		if e := as[*DifferingError](t, err); !slices.Equal(e.Keys, oldKeys[3:4]) {
			t.Errorf("differing %q", e.Keys)
		}
		if got := keysOf(c, bucket); len(got) != 2 {
			t.Errorf("the new bucket has %q", got)
		}
	})
	t.Run("what somebody makes while it copies", func(t *testing.T) {
		c, migrate := moving(t)
		c.on("CopyObject", "Shop/eu-west-1/state.json", 0, 1, first(func() { c.PutObject(bucket, oldKeys[3], []byte("newer")) }))
		_, err := migrate(func(o *MigrateOptions) { o.Remove = true })
		if err == nil {
			t.Fatal("it was copied over or taken for a copy")
		}
		if o, _ := c.Object(bucket, oldKeys[3]); string(o.Body) != "newer" || !slices.Contains(c.Buckets(), oldBucket) {
			t.Errorf("%s has %q; buckets %q", oldKeys[3], o.Body, c.Buckets())
		}
	})
	t.Run("to remove a bucket that was changed while it was copied", func(t *testing.T) {
		c, migrate := moving(t)
		c.on("CopyObject", "", 0, 1, first(func() { c.PutObject(oldBucket, "cdkd/New/eu-west-1/state.json", []byte("{}")) }))
		_, err := migrate(func(o *MigrateOptions) { o.Remove = true })
		if err == nil || !strings.Contains(err.Error(), "was changed while it was copied") {
			t.Errorf("ended with %v", err)
		}
		if !slices.Contains(c.Buckets(), oldBucket) {
			t.Error("the old bucket is gone")
		}
	})
	t.Run("another account's bucket", func(t *testing.T) {
		c, migrate := moving(t)
		c.AddBucket(bucket, "eu-west-1", "999999999999")
		_, err := migrate()
		as[*AccessError](t, err)
	})
}

// A deploy or a destroy in the new bucket, after its content was copied there,
// does not keep the migration from being ended, and nothing that it changed or
// deleted comes back. What is newer in the old one is not given up (S-314).
func TestMigrateAfterChanges(t *testing.T) {
	const shop, journal = "cdkd/Shop/eu-west-1/", "cdkd/Shop/eu-west-1/rollback-journal.json"
	for name, tt := range map[string]struct {
		change     func(c *cloud, s *Store)
		superseded int
		disputed   []string // else it is ended
	}{
		"a stack was deployed": {change: func(c *cloud, s *Store) {
			c.PutObject(bucket, shop+"state.json", []byte("newer"))
			c.PutObject(bucket, shop+"deployments/index.json", []byte("newer"))
		}, superseded: 2},
		"twice, and its journal is gone without a trace": {change: func(c *cloud, s *Store) {
			c.PutObject(bucket, shop+"state.json", []byte("newer"))
			c.PutObject(bucket, shop+"state.json", []byte("newest"))
			_ = s.remove(t.Context(), journal)
			_ = s.purge(t.Context(), journal)
		}, superseded: 2},
		"a stack was destroyed": {change: func(c *cloud, s *Store) {
			_ = s.remove(t.Context(), shop+"state.json")
			_ = s.remove(t.Context(), "_cdkd-registry/eu-west-1/Shop.json")
		}, superseded: 2},
		"a new stack was deployed": {change: func(c *cloud, s *Store) {
			c.PutObject(bucket, "cdkd/New/eu-west-1/state.json", []byte("new"))
		}},
		"a stack was deployed in both": {change: func(c *cloud, s *Store) {
			c.PutObject(bucket, shop+"state.json", []byte("newer"))
			c.PutObject(oldBucket, shop+"state.json", []byte("newest"))
		}, disputed: []string{shop + "state.json"}},
		"a stack was deployed in the old one": {change: func(c *cloud, s *Store) {
			c.PutObject(oldBucket, shop+"state.json", []byte("newest"))
		}, disputed: []string{shop + "state.json"}},
		"destroyed in one and deployed in the other": {change: func(c *cloud, s *Store) {
			_ = s.remove(t.Context(), shop+"state.json")
			c.PutObject(oldBucket, shop+"state.json", []byte("newest"))
		}, disputed: []string{shop + "state.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, migrate := moving(t)
			c.PutObject(oldBucket, journal, []byte("body"))
			c.PutObject(oldBucket, shop+"deployments/index.json", []byte("body"))
			if _, err := migrate(); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), c.overHTTP(t), Options{Bucket: bucket, Prefix: DefaultPrefix, Region: "eu-west-1", Account: fixedAccount})
			if err != nil {
				t.Fatal(err)
			}
			tt.change(c, s)
			before := keysOf(c, bucket)
			body, _ := c.Object(bucket, shop+"state.json")
			got, err := migrate(func(o *MigrateOptions) { o.Remove = true })
			if tt.disputed != nil {
				if e := as[*DifferingError](t, err); !slices.Equal(e.Keys, tt.disputed) || !slices.Contains(c.Buckets(), oldBucket) {
					t.Errorf("disputed %q, buckets %q", e.Keys, c.Buckets())
				}
			} else if err != nil || !got.Removed || got.Copied != 0 || got.Superseded != tt.superseded {
				t.Errorf("%+v, %v", got, err)
			}
			if now, _ := c.Object(bucket, shop+"state.json"); string(now.Body) != string(body.Body) {
				t.Errorf("the record is %s", now.Body)
			}
			if diff := cmp.Diff(before, keysOf(c, bucket)); diff != "" {
				t.Errorf("the new bucket (-before +after):\n%s", diff)
			}
		})
	}
}

func TestMigrateGoesOn(t *testing.T) { // (S-314)
	for name, do := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"after a failure":                    answer(http.StatusForbidden, "AccessDenied"),
		"after a copy whose answer was lost": lose,
	} {
		t.Run(name, func(t *testing.T) {
			c, migrate := moving(t)
			c.on("CopyObject", "", 2, 1, do)
			if _, err := migrate(); err != nil {
				if _, err = migrate(); err != nil {
					t.Fatal(err)
				}
			}
			want := slices.Sorted(slices.Values(oldKeys))
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(keysOf(c, bucket)))); diff != "" {
				t.Errorf("the new bucket (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMigrateRemovesEveryVersion(t *testing.T) { // (S-314)
	c, migrate := moving(t)
	cfg := c.overHTTP(t)
	s, err := Open(t.Context(), cfg, Options{Bucket: oldBucket, Prefix: DefaultPrefix, Region: "eu-west-1", Account: fixedAccount})
	if err != nil {
		t.Fatal(err)
	}
	versioned(t, s)
	c.PutObject(oldBucket, oldKeys[3], []byte("a later version"))
	if err := s.remove(t.Context(), oldKeys[4]); err != nil {
		t.Fatal(err)
	}
	got, err := migrate(func(o *MigrateOptions) { o.Remove = true })
	if err != nil || !got.Removed || got.Copied != 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	if b := c.Buckets(); !slices.Equal(b, []string{bucket}) {
		t.Errorf("buckets %q", b)
	}
	if o, _ := c.Object(bucket, oldKeys[3]); string(o.Body) != "a later version" {
		t.Errorf("copied %q", o.Body)
	}
}
