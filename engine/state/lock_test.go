package state

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const lockKey = shopKey + lockName

func lockOptions(n *notes) LockOptions {
	return LockOptions{Owner: "me@here:1", Operation: "deploy", Warn: n.add}
}

// holdBy puts another process's lock into the bucket.
func (c *cloud) holdBy(owner string, expires time.Time) {
	r := LockRecord{Owner: owner, Operation: "destroy", Acquired: expires.Add(-LockTTL), Expires: expires}
	c.PutObject(bucket, lockKey, r.marshal())
}

func (c *cloud) removeLock(t *testing.T, k *Stack) {
	if err := k.store.remove(t.Context(), lockKey); err != nil {
		t.Error(err)
	}
}

func TestLockWrittenAndReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-85, S-88, S-89, S-432)
		c, k := bubbleShop(t)
		l, err := k.Lock(t.Context(), lockOptions(new(notes)))
		if err != nil {
			t.Fatal(err)
		}
		want := "{\n  \"owner\": \"me@here:1\",\n  \"timestamp\": 946684800000,\n  \"expiresAt\": 946686600000,\n  \"operation\": \"deploy\"\n}"
		if diff := cmp.Diff(want, c.body(t, lockKey)); diff != "" {
			t.Errorf("lock (-want +got):\n%s", diff)
		}
		if o, _ := c.Object(bucket, lockKey); o.ContentType != "application/json" {
			t.Errorf("content type %q", o.ContentType)
		}
		for range 2 {
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		c.wantRequests(t, "PutObject "+lockKey, "DeleteObject "+lockKey)
		if c.has(lockKey) {
			t.Error("the lock is still there")
		}
	})
}

func TestLockAnnounces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-87, S-153)
		c, k := bubbleShop(t)
		n := new(notes)
		l, err := k.Lock(t.Context(), lockOptions(n))
		if err != nil {
			t.Fatal(err)
		}
		says := func() LockRecord {
			t.Helper()
			r, err := k.Peek(t.Context())
			if err != nil || r == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			return *r
		}
		if says().Withdraws() {
			t.Error("a deploy withdraws nothing before it says so")
		}
		if err := l.Announce(t.Context(), Withdrawing); err != nil || !says().Withdraws() {
			t.Errorf("%v, %+v", err, says())
		}
		time.Sleep(LockInterval + time.Second)
		if r := says(); !r.Withdraws() || r.Expires.Before(time.Now().Add(LockTTL-2*time.Second)) {
			t.Errorf("a renewal says %+v", r)
		}
		c.holdBy("other", at(time.Hour))
		if err := l.Announce(t.Context(), "deploy"); !errors.Is(err, ErrLost) {
			t.Errorf("announced in another's lock: %v", err)
		}
		if err := l.Announce(t.Context(), "deploy"); !errors.Is(err, ErrLost) {
			t.Errorf("announced in a lock that is lost: %v", err)
		}
		if err := l.Release(t.Context()); err != nil || says().Owner != "other" {
			t.Errorf("%v, %+v", err, says())
		}
	})
}

func TestLockContention(t *testing.T) {
	for _, tt := range []struct {
		name     string
		opt      func(*LockOptions)
		hold     func(*testing.T, *cloud, *Stack)
		attempts int
		after    time.Duration
		readable bool
	}{
		{
			name:     "a retrying command makes 4 attempts 2 s apart (S-96)",
			hold:     func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("other", at(time.Hour)) },
			attempts: 4, after: 6 * time.Second, readable: true,
		},
		{
			name:     "a fail-fast command makes one (S-97)",
			opt:      func(o *LockOptions) { o.FailFast = true },
			hold:     func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("other", at(time.Hour)) },
			attempts: 1, readable: true,
		},
		{
			name: "locks that are gone when looked at: 3 extras at once, then counted ones (S-98)",
			hold: func(t *testing.T, c *cloud, k *Stack) {
				c.on("PutObject", lockName, 0, 0, answer(http.StatusPreconditionFailed, "PreconditionFailed"))
			},
			attempts: 7, after: 6 * time.Second,
		},
		{
			name: "a body that is not a lock is like no lock, and stays (S-438)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				c.PutObject(bucket, lockKey, []byte("[]"))
			},
			attempts: 7, after: 6 * time.Second,
		},
		{
			name:     "waiting goes on for as long as asked",
			opt:      func(o *LockOptions) { o.Wait = time.Minute },
			hold:     func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("other", at(time.Hour)) },
			attempts: 16, after: 66 * time.Second, readable: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				tt.hold(t, c, k)
				opt := lockOptions(new(notes))
				if tt.opt != nil {
					tt.opt(&opt)
				}
				start := time.Now()
				_, err := k.Lock(t.Context(), opt)
				held := as[*HeldError](t, err)
				if held.Attempts != tt.attempts || time.Since(start) != tt.after || held.Readable != tt.readable {
					t.Errorf("%d attempts in %s, readable %v; want %d in %s, %v",
						held.Attempts, time.Since(start), held.Readable, tt.attempts, tt.after, tt.readable)
				}
				puts := 0
				log := c.requests()
				if len(log) != 2*tt.attempts {
					t.Errorf("%d requests for %d attempts, want a put and a get for each", len(log), tt.attempts)
				}
				for _, r := range log {
					if r == "PutObject "+lockKey {
						puts++
					}
					if strings.HasPrefix(r, "Delete") {
						t.Errorf("sent %s", r)
					}
				}
				if puts != tt.attempts {
					t.Errorf("%d puts, want %d", puts, tt.attempts)
				}
			})
		})
	}
}

func TestLockFreedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-96)
		c, k := bubbleShop(t)
		c.holdBy("other", at(time.Hour))
		time.AfterFunc(5*time.Second, func() { c.removeLock(t, k) })
		start := time.Now()
		l, err := k.Lock(t.Context(), lockOptions(new(notes)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(t.Context())
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("taken after %s, want 6s", d)
		}
	})
}

func TestLockWaitNamesTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		c.holdBy("other", at(time.Hour))
		opt := lockOptions(new(notes))
		opt.Wait = 70 * time.Second
		var told []time.Duration
		start := time.Now()
		opt.Waiting = func(h *HeldError) {
			told = append(told, time.Since(start))
			if h.Owner != "other" {
				t.Errorf("told owner %q", h.Owner)
			}
		}
		_, err := k.Lock(t.Context(), opt)
		as[*HeldError](t, err)
		if diff := cmp.Diff([]time.Duration{6 * time.Second, 36 * time.Second, 66 * time.Second}, told); diff != "" {
			t.Errorf("told at (-want +got):\n%s", diff)
		}
	})
}

func TestLockWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-186)
		c, k := bubbleShop(t)
		c.holdBy("other", at(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := k.Lock(ctx, lockOptions(new(notes)))
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("ended after %s with %v", time.Since(start), err)
		}
	})
}

func TestLockFailsAtOnceOnOtherErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-99)
		c, k := bubbleShop(t)
		c.on("PutObject", lockName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		start := time.Now()
		_, err := k.Lock(t.Context(), lockOptions(new(notes)))
		denied := as[*AccessError](t, err)
		if denied.Permission != "s3:PutObject" || time.Since(start) != 0 {
			t.Errorf("permission %s after %s", denied.Permission, time.Since(start))
		}
	})
}

func TestLockTakeover(t *testing.T) {
	expired := func(c *cloud) { c.holdBy("dead", at(0)) }
	for _, tt := range []struct {
		name  string
		hold  func(*testing.T, *cloud, *Stack)
		owner string // of the lock in the bucket afterwards
		taken bool
		warns string
		says  string // the error, with its remedy
	}{
		{
			name:  "an expired lock is taken over with a warning (S-90, S-91, S-92)",
			hold:  func(_ *testing.T, c *cloud, _ *Stack) { expired(c) },
			owner: "me@here:1", taken: true, warns: "took over the expired lock of stack Shop in eu-west-1 from dead (destroy)",
		},
		{
			name: "one without a readable expiry counts as expired (S-90)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				c.PutObject(bucket, lockKey, []byte(`{"owner":"dead","timestamp":99999999999999,"expiresAt":"soon"}`))
			},
			owner: "me@here:1", taken: true, warns: "from dead",
		},
		{
			name: "not one whose expiry is far beyond the calendar (S-90)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				c.PutObject(bucket, lockKey, []byte(`{"owner":"far","timestamp":1,"expiresAt":99999999999999999999}`))
			},
			owner: "far", says: "it expires in more than a year",
		},
		{
			name: "not one that was renewed in between (S-91)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				expired(c)
				c.on("DeleteObject", lockName, 0, 1, first(func() { c.holdBy("dead", at(time.Hour)) }))
			},
			owner: "dead",
		},
		{
			name: "not one that was released in between (S-91)",
			hold: func(t *testing.T, c *cloud, k *Stack) {
				expired(c)
				c.on("DeleteObject", lockName, 0, 1, first(func() { c.removeLock(t, k) }))
			},
		},
		{
			name: "somebody else took it over first: contended (S-91)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				expired(c)
				c.on("PutObject", lockName, 1, 1, first(func() { c.holdBy("faster", at(time.Hour)) }))
			},
			owner: "faster",
		},
		{
			name: "not where the store has no conditional delete (S-91)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				expired(c)
				c.on("DeleteObject", lockName, 0, 0, answer(http.StatusNotImplemented, "NotImplemented"))
			},
			owner: "dead", says: "it has expired, but it could not be taken over safely",
		},
		{
			name: "not where deleting is denied (S-91)",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				expired(c)
				c.on("DeleteObject", lockName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
			},
			owner: "dead", says: "it has expired, but it could not be taken over safely",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				tt.hold(t, c, k)
				n := new(notes)
				opt := lockOptions(n)
				opt.FailFast = true
				l, err := k.Lock(t.Context(), opt)
				if l != nil {
					defer l.Release(t.Context())
					if l.TookOver == nil || l.TookOver.Owner != "dead" {
						t.Errorf("took over %+v", l.TookOver)
					}
				} else {
					held := as[*HeldError](t, err)
					if !strings.Contains(held.Error(), tt.says) || !strings.Contains(held.Remedy(), "cdkd force-unlock Shop") {
						t.Errorf("got %q, remedy %q, want %q", held, held.Remedy(), tt.says)
					}
				}
				if (l != nil) != tt.taken {
					t.Errorf("taken: %v, want %v (%v)", l != nil, tt.taken, err)
				}
				if tt.owner == "" {
					if c.has(lockKey) {
						t.Error("there is a lock")
					}
				} else if got, _ := parseLock([]byte(c.body(t, lockKey))); got.Owner != tt.owner {
					t.Errorf("the lock is %q's, want %q's", got.Owner, tt.owner)
				}
				if got := strings.Join(n.all(), "\n"); !strings.Contains(got, tt.warns) || (tt.warns == "") != (got == "") {
					t.Errorf("warned %q, want %q", got, tt.warns)
				}
			})
		})
	}
}

// A takeover removes no earlier versions of the lock before it has it again
// (S-93).
func TestTakeoverPurgesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		versioned(t, k.store)
		c.holdBy("dead", at(0))
		c.requests()
		l, err := k.Lock(t.Context(), lockOptions(new(notes)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(t.Context())
		c.wantRequests(t, "PutObject "+lockKey, "GetObject "+lockKey, "DeleteObject "+lockKey, "PutObject "+lockKey, "GetObject "+ledgerKey,
			"GetObject "+recordKey, "GetObject "+"cdkd/Shop/state.json") // of what a destroy may have deleted
	})
}

func TestLockAdoptsItsOwnWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		losses int
	}{
		{"the SDK sends again and meets itself (S-94, S-436)", 1},
		{"no answer at all, as often as the SDK asks (S-94)", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.on("PutObject", lockName, 0, tt.losses, lose)
				l, err := k.Lock(t.Context(), lockOptions(new(notes)))
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Release(t.Context()); err != nil || c.has(lockKey) {
					t.Errorf("released with %v, lock there: %v", err, c.has(lockKey))
				}
			})
		})
	}
}

// A store that names no versions: nothing is renewed, and nothing is deleted
// that does not say whose it is.
func TestLockWithoutVersions(t *testing.T) { // (S-91, S-105, S-432)
	synctest.Test(t, func(t *testing.T) {
		c, k := bubbleShop(t)
		nameless := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			rec.Header().Del("ETag")
			maps.Copy(w.Header(), rec.Header())
			w.WriteHeader(rec.Code)
			w.Write(rec.Body.Bytes())
		}
		c.on("PutObject", lockName, 0, 0, nameless)
		c.on("GetObject", lockName, 0, 0, nameless)
		c.holdBy("dead", at(0))
		opt := lockOptions(new(notes))
		opt.FailFast = true
		_, err := k.Lock(t.Context(), opt)
		if held := as[*HeldError](t, err); held.Refused == "" || !c.has(lockKey) {
			t.Errorf("got %+v, lock there: %v", held, c.has(lockKey))
		}
		c.removeLock(t, k)
		l, err := k.Lock(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		c.requests()
		time.Sleep(time.Hour)
		c.wantRequests(t)
		if err := l.Release(t.Context()); err != nil || c.has(lockKey) {
			t.Errorf("got %v, lock there: %v", err, c.has(lockKey))
		}
	})
}

func TestHeldForACommandThatTakesNoLock(t *testing.T) { // (S-411)
	c, k := shop(t)
	c.holdBy("other", at(time.Hour))
	r, err := k.Peek(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "the lock of stack Shop in eu-west-1 is held by other for destroy; it expires in 60 minutes"
	if text := k.Held(*r).Error(); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestLockBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-95)
		c, k := bubbleShop(t)
		c.on("PutObject", lockName, 0, 2, answer(http.StatusConflict, "ConditionalRequestConflict"))
		l, err := k.Lock(t.Context(), lockOptions(new(notes)))
		if err != nil {
			t.Fatal(err)
		}
		l.Release(t.Context())
		c.wantRequests(t, "PutObject "+lockKey, "PutObject "+lockKey, "PutObject "+lockKey, "DeleteObject "+lockKey)
	})
}

func TestLockRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // (S-104)
		c, k := bubbleShop(t)
		n := new(notes)
		l, err := k.Lock(t.Context(), lockOptions(n))
		if err != nil {
			t.Fatal(err)
		}
		before, _ := parseLock([]byte(c.body(t, lockKey)))
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		after, _ := parseLock([]byte(c.body(t, lockKey)))
		want := before
		want.Expires = before.Acquired.Add(time.Hour + LockTTL)
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("lock after an hour (-want +got):\n%s", diff)
		}
		if got := len(c.requests()); got != 31 {
			t.Errorf("%d requests in an hour, want the first and 30 renewals", got)
		}
		if err := l.Release(t.Context()); err != nil || c.has(lockKey) || len(n.all()) > 0 {
			t.Errorf("release: %v, lock there: %v, warnings %q", err, c.has(lockKey), n.all())
		}
		time.Sleep(time.Hour)
		c.wantRequests(t, "DeleteObject "+lockKey)
	})
}

func TestRenewalInterval(t *testing.T) { // (S-104)
	for ttl, want := range map[time.Duration]time.Duration{
		LockTTL: 2 * time.Minute, 4 * time.Minute: time.Minute, time.Second: time.Second,
	} {
		if got := renewalInterval(ttl); got != want {
			t.Errorf("renewalInterval(%s) = %s, want %s", ttl, got, want)
		}
	}
}

func TestLockLoss(t *testing.T) {
	for _, tt := range []struct {
		name  string
		act   func(*testing.T, *cloud, *Stack)
		lost  bool
		warns string
		left  bool // somebody's lock stays
	}{
		{
			name:  "another holder: lost, named, and not deleted (S-105)",
			act:   func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("thief", at(time.Hour)) },
			lost:  true,
			warns: "lost to thief (destroy)",
			left:  true,
		},
		{
			name:  "removed: lost (S-105)",
			act:   func(t *testing.T, c *cloud, k *Stack) { c.removeLock(t, k) },
			lost:  true,
			warns: "removed by somebody else",
		},
		{
			name: "a renewal's answer lost: adopted (S-105)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("PutObject", lockName, 0, 3, lose)
			},
		},
		{
			name: "14 renewals missed: still held (S-104)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("PutObject", lockName, 0, 14*3, drop)
			},
		},
		{
			name: "no renewal until it expired: one warning, and on it goes (S-105)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("PutObject", lockName, 0, 18*3, drop)
			},
			warns: "could not be renewed and has expired",
		},
		{
			name: "access denied for a while: on it goes (S-105)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("PutObject", lockName, 0, 3, answer(http.StatusForbidden, "ExpiredToken"))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				n := new(notes)
				l, err := k.Lock(t.Context(), lockOptions(n))
				if err != nil {
					t.Fatal(err)
				}
				tt.act(t, c, k)
				time.Sleep(45 * time.Minute)
				synctest.Wait()
				select {
				case <-l.Lost():
					if !tt.lost {
						t.Error("lost")
					}
				default:
					if tt.lost {
						t.Error("not lost")
					}
				}
				if got := n.all(); tt.warns == "" && len(got) > 0 || tt.warns != "" && (len(got) != 1 || !strings.Contains(got[0], tt.warns)) {
					t.Errorf("warned %q, want %q", got, tt.warns)
				}
				c.requests()
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if tt.lost && len(c.requests()) > 0 {
					t.Error("a lost lock was touched at the end")
				}
				if c.has(lockKey) != tt.left {
					t.Errorf("lock there: %v, want %v", c.has(lockKey), tt.left)
				}
			})
		})
	}
}

// A lock that expired while its holder could not renew it is asked for before
// anything is changed under it (S-105, S-430).
func TestLockAssure(t *testing.T) {
	for _, tt := range []struct {
		name     string
		away     time.Duration // for which nothing can be written
		then     func(*testing.T, *cloud, *Stack)
		lost     bool
		warns    string
		requests bool
	}{
		{name: "not expired: nothing is asked", away: 29 * time.Minute},
		{name: "expired, and nobody took it: renewed", away: 33 * time.Minute, warns: "has expired", requests: true},
		{
			name: "taken over: lost", away: 33 * time.Minute, lost: true, requests: true,
			then:  func(t *testing.T, c *cloud, _ *Stack) { c.holdBy("heir", at(time.Hour)) },
			warns: "lost to heir",
		},
		{
			name: "cannot be renewed: given up", away: 33 * time.Minute, lost: true, requests: true,
			then:  func(_ *testing.T, c *cloud, _ *Stack) { c.on("PutObject", lockName, 0, 0, drop) },
			warns: "nothing new is started",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				n := new(notes)
				l, err := k.Lock(t.Context(), lockOptions(n))
				if err != nil {
					t.Fatal(err)
				}
				gone := true
				c.on("PutObject", lockName, 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if gone {
						drop(w, r, next)
					}
					next.ServeHTTP(w, r)
				})
				time.Sleep(tt.away)
				synctest.Wait()
				gone = false
				if tt.then != nil {
					c.mu.Lock()
					c.faults = nil
					c.mu.Unlock()
					tt.then(t, c, k)
				}
				c.requests()
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if err := l.Assure(t.Context()); errors.Is(err, ErrLost) != tt.lost || !tt.lost && err != nil {
							t.Errorf("got %v, want it lost: %t", err, tt.lost)
						}
					})
				}
				wg.Wait()
				writes := slices.DeleteFunc(c.requests(), func(r string) bool { return !strings.HasPrefix(r, "PutObject") })
				if len(writes) > 0 != tt.requests || !tt.lost && len(writes) > 1 {
					t.Errorf("requests %v", writes)
				}
				if got := strings.Join(n.all(), "\n"); !strings.Contains(got, tt.warns) {
					t.Errorf("warned %q, want %q", got, tt.warns)
				}
				l.Release(t.Context())
			})
		})
	}
}

func TestLockRelease(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(*testing.T, *cloud, *Stack)
		err  string
		left bool
	}{
		{
			name: "somebody else's since: left, with an error (S-432)",
			act:  func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("thief", at(time.Hour)) },
			err:  "modified by another process", left: true,
		},
		{
			name: "gone: fine (S-432)",
			act:  func(t *testing.T, c *cloud, k *Stack) { c.removeLock(t, k) },
		},
		{
			name: "the answer is lost, and the delete that follows refused: fine (S-432)",
			act:  func(_ *testing.T, c *cloud, _ *Stack) { c.on("DeleteObject", lockName, 0, 1, lose) },
		},
		{
			name: "no conditional delete: deleted when it says that it is ours (S-432)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("DeleteObject", lockName, 0, 1, answer(http.StatusNotImplemented, "NotImplemented"))
			},
		},
		{
			name: "no conditional delete, and somebody else's: left (S-432)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("DeleteObject", lockName, 0, 1, answer(http.StatusNotImplemented, "NotImplemented"))
				c.holdBy("thief", at(time.Hour))
			},
			err: "not this run's any more", left: true,
		},
		{
			name: "no conditional delete, and unreadable: left, naming the permission (S-432)",
			act: func(_ *testing.T, c *cloud, _ *Stack) {
				c.on("DeleteObject", lockName, 0, 1, answer(http.StatusForbidden, "AccessDenied"))
				c.on("GetObject", lockName, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
			},
			err: "cannot be read", left: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				l, err := k.Lock(t.Context(), lockOptions(new(notes)))
				if err != nil {
					t.Fatal(err)
				}
				tt.act(t, c, k)
				err = l.Release(t.Context())
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				if c.has(lockKey) != tt.left {
					t.Errorf("lock there: %v, want %v", c.has(lockKey), tt.left)
				}
			})
		})
	}
}

func TestLockReleaseDoesNotWaitForARenewal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		arrives bool // the renewal has its effect, only its answer is late
	}{{"that hangs (S-189, S-432)", false}, {"whose answer hangs (S-189, S-436)", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				hang := make(chan struct{})
				defer close(hang)
				c.on("PutObject", lockName, 1, 1, func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
					if tt.arrives {
						next.ServeHTTP(httptest.NewRecorder(), r)
					}
					<-hang
				})
				l, err := k.Lock(t.Context(), lockOptions(new(notes)))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(LockInterval + time.Second)
				start := time.Now()
				if err := l.Release(t.Context()); err != nil || c.has(lockKey) {
					t.Errorf("got %v, lock there: %v", err, c.has(lockKey))
				}
				if d := time.Since(start); d != renewalGrace {
					t.Errorf("released after %s, want %s", d, renewalGrace)
				}
			})
		})
	}
}

func TestPeekAndForceUnlock(t *testing.T) { // (S-434)
	c, k := shop(t)
	if r, err := k.Peek(t.Context()); r != nil || err != nil {
		t.Fatalf("no lock: got %v, %v", r, err)
	}
	c.holdBy("other", at(time.Hour))
	r, err := k.Peek(t.Context())
	if err != nil || r.Owner != "other" || r.Operation != "destroy" || r.Expired(time.Now()) {
		t.Fatalf("got %+v, %v", r, err)
	}
	c.PutObject(bucket, "cdkd/Shop/lock.json", []byte("{}"))
	r, there, err := k.ForceUnlock(t.Context())
	if err != nil || !there || r.Owner != "other" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if c.has(lockKey) || c.has("cdkd/Shop/lock.json") {
		t.Error("a lock is still there")
	}
	c.PutObject(bucket, lockKey, []byte("null"))
	_, err = k.Peek(t.Context())
	as[*MalformedError](t, err)
	if r, there, err = k.ForceUnlock(t.Context()); err != nil || !there || r != nil || c.has(lockKey) {
		t.Errorf("an unreadable lock: got %+v, there %t, %v, still there: %v", r, there, err, c.has(lockKey))
	}
	if r, there, err = k.ForceUnlock(t.Context()); err != nil || there || r != nil {
		t.Errorf("no lock: got %+v, there %t, %v", r, there, err)
	}
}

func TestLockRace(t *testing.T) { // (S-89)
	_, k := shop(t)
	const runs = 8
	got := make(chan *Lock, runs)
	for i := range runs {
		go func() {
			l, err := k.Lock(t.Context(), LockOptions{Owner: fmt.Sprint("run ", i), Operation: "deploy", FailFast: true})
			if err != nil {
				if _, ok := errors.AsType[*HeldError](err); !ok {
					t.Error(err)
				}
				l = nil
			}
			got <- l
		}()
	}
	var winners []*Lock
	for range runs {
		if l := <-got; l != nil {
			winners = append(winners, l)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d of %d have the lock", len(winners), runs)
	}
	if err := winners[0].Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewOwner(t *testing.T) { // (S-86)
	workflow := func(name string) string {
		return map[string]string{
			"USER": "runner", "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "2",
		}[name]
	}
	a, b := NewOwner(workflow), NewOwner(workflow)
	if !strings.HasPrefix(a, "runner@gha-77-2-") || a == b {
		t.Errorf("got %q and %q", a, b)
	}
	if o := NewOwner(func(string) string { return "" }); !strings.HasPrefix(o, "unknown@") || strings.Contains(o, "gha") {
		t.Errorf("got %q", o)
	}
}

func FuzzLock(f *testing.F) { // (S-90, S-438)
	f.Add(testdata(f, "mutate-85/lock.json"))
	f.Add([]byte(`{"owner":1,"expiresAt":1e400}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseLock(b)
		if !ok {
			return
		}
		again, ok := parseLock(r.marshal())
		if !ok || !r.Expires.IsZero() && !again.Expires.Equal(r.Expires) {
			t.Errorf("read %+v, again %+v", r, again)
		}
	})
}

// What an interrupted run wrote, or may have, is known: nobody else would
// release it (S-186, S-189, S-433).
func TestLockOfAnInterruptedRun(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(c *cloud, interrupt func(), end <-chan struct{})
		held    bool // by us
		owner   string
		after   time.Duration
		warns   string
	}{
		{
			name: "a signal before: nothing is asked for",
			prepare: func(_ *cloud, interrupt func(), _ <-chan struct{}) {
				interrupt()
			},
		},
		{
			name: "a signal while the lock is written: its answer is waited for",
			prepare: func(c *cloud, interrupt func(), _ <-chan struct{}) {
				c.on("PutObject", lockName, 0, 1, first(interrupt))
			},
			held: true, owner: "me@here:1",
		},
		{
			name: "and the answer is lost: it is found by reading",
			prepare: func(c *cloud, interrupt func(), _ <-chan struct{}) {
				c.on("PutObject", lockName, 0, 3, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					interrupt()
					lose(w, r, next)
				})
			},
			held: true, owner: "me@here:1", after: answerTime,
		},
		{
			name: "a signal when an expired lock is met: it is left",
			prepare: func(c *cloud, interrupt func(), _ <-chan struct{}) {
				c.holdBy("dead", at(0))
				c.on("GetObject", lockName, 0, 1, first(interrupt))
			},
			owner: "dead",
		},
		{
			name: "a signal while an expired lock is removed: it is taken over whole (S-92)",
			prepare: func(c *cloud, interrupt func(), _ <-chan struct{}) {
				c.holdBy("dead", at(0))
				c.on("DeleteObject", lockName, 0, 1, first(interrupt))
			},
			held: true, owner: "me@here:1", warns: "took over the expired lock",
		},
		{
			name: "no answer while there is time: it is said that it may be there",
			prepare: func(c *cloud, interrupt func(), end <-chan struct{}) {
				c.on("PutObject", lockName, 0, 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					interrupt()
					hangs(end, false)(w, r, next)
				})
			},
			after: answerTime, warns: "S3 did not say whether the lock of stack Shop in eu-west-1 is taken: if it is, it frees itself at 2000-01-01T00:30:00Z, and force-unlock removes it sooner",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				stopped := errors.New("interrupted")
				ctx, cancel := context.WithCancelCause(t.Context())
				end := make(chan struct{})
				defer close(end)
				tt.prepare(c, func() { cancel(stopped) }, end)
				n := new(notes)
				start := time.Now()
				l, err := k.Lock(ctx, lockOptions(n))
				if d := time.Since(start); d > tt.after {
					t.Errorf("known after %s, want %s at most", d, tt.after)
				}
				if (l != nil) != tt.held || (err == nil) != tt.held || err != nil && !errors.Is(err, stopped) && !errors.Is(err, context.Canceled) {
					t.Errorf("held: %v, want %v (%v)", l != nil, tt.held, err)
				}
				object, _ := c.Object(bucket, lockKey)
				if got, _ := parseLock(object.Body); got.Owner != tt.owner {
					t.Errorf("the lock is %q's, want %q's", got.Owner, tt.owner)
				}
				if got := strings.Join(n.all(), "\n"); !strings.HasPrefix(got, tt.warns) || (tt.warns == "") != (got == "") {
					t.Errorf("warned %q, want %q", got, tt.warns)
				}
				if l != nil {
					if err := l.Release(t.Context()); err != nil || c.has(lockKey) {
						t.Errorf("released with %v, lock there: %v", err, c.has(lockKey))
					}
				}
			})
		})
	}
}
