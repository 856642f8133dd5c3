package containertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/cdkd-action/ci/github/githubtest"
	"github.com/org/cdkd-action/internal/runner"
	"github.com/org/cdkd-action/internal/sandbox"
)

var (
	wholeTable = flag.Bool("table", false, "disturb every kind of work in every manner, not one each")
	update     = flag.Bool("update", false, "write the table into docs/cancellation.md")
)

// A manner is how a deploy is disturbed.
type manner struct {
	name string
	// lives tells that the container is left the seconds that the contract needs.
	lives bool
	do    func(context.Context, *runner.Step) error
}

var manners = []manner{
	{"SIGINT only", true, func(_ context.Context, s *runner.Step) error { s.Interrupt(); return nil }},
	{"SIGINT, SIGTERM, client killed", true, func(_ context.Context, s *runner.Step) error { s.Cancel(); return nil }},
	{"container killed", false, func(ctx context.Context, s *runner.Step) error { return s.Kill(ctx) }},
	{"docker stop", true, func(ctx context.Context, s *runner.Step) error { return s.Stop(ctx) }},
	{"step timeout", true, func(_ context.Context, s *runner.Step) error { s.TimeOut(); return nil }},
}

// sample is the manner in which a kind of work is disturbed when not all are.
var sample = []int{0, 1, 1, 2, 2, 4, 3, 1, 0}

// windowLimit is what the contract gives: from the first signal to a free lock.
const windowLimit = 10 * time.Second

// A row is what came of one deploy that was disturbed.
type row struct {
	work, manner string
	exit         int
	conclusion   runner.Conclusion
	free         time.Duration // from the first signal to the lock's end; -1: it had none
	byPost       bool
	complete     bool
	verdict      string // of the post step
	next         string // outcome of the next run
}

// Every kind of work, ended in every manner: what was done is accounted for, the
// lock is free, and the next run finishes (S-189, S-440, G-1.3).
func testTable(t *testing.T) {
	var mu sync.Mutex
	rows := map[string]row{}
	t.Run("rows", func(t *testing.T) {
		for i, w := range works {
			for j, m := range manners {
				if !*wholeTable && j != sample[i] {
					continue
				}
				t.Run(w.name+"/"+m.name, func(t *testing.T) {
					t.Parallel()
					r := play(t, w, m)
					mu.Lock()
					defer mu.Unlock()
					rows[w.name+"/"+m.name] = r
				})
			}
		}
	})
	text := render(rows)
	t.Logf("\n%s", text)
	if *update && *wholeTable && !t.Failed() {
		writeSection(t, "table", text)
	}
}

func play(t *testing.T, w work, m manner) row {
	s := &scene{awsAccount: newAccountWith(t, w.options, place), t: t, faded: make(chan struct{})}
	app := w.app
	if app == "" {
		app = "cdk.out"
	}
	if err := os.RemoveAll(s.job.Workspace); err != nil {
		t.Fatal(err)
	}
	made := "cdk.out"
	if w.app != "" {
		made = "made"
	}
	s.writeApp(w, made)
	if w.arrange != nil {
		w.arrange(s)
	}
	// The runner's user is not root.
	if err := os.Chown(s.job.Workspace, 1001, 1001); err != nil {
		t.Fatal(err)
	}
	hub := s.onPullRequest(t)
	use := s.use(full, app, map[string]string{"stacks": stack, "lock-wait": "10m"})
	step := s.startUse(t, use)
	s.awaitWork(step, w)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	freed := s.watchLock(ctx)
	if err := m.do(ctx, step); err != nil {
		t.Fatalf("%s: %v\n%s", m.name, err, step.Log())
	}
	result := wait(t, step)
	r := row{work: w.name, manner: m.name, exit: result.ExitCode, conclusion: result.Conclusion, free: -1}
	mainLog := result.Log
	_, held := s.S3.Object(bucket, lockKey)

	postUse, ok := result.Post(use)
	if !ok {
		t.Fatal("the action has no post step")
	}
	post := wait(t, s.startUse(t, postUse))
	r.verdict = verdict(post.Log)
	if post.ExitCode != 0 {
		t.Errorf("the post step exits with %d:\n%s", post.ExitCode, post.Log)
	}
	open := w.open
	if w.recorded && !m.lives {
		open = ""
	}
	s.wantToldOf(open, result, post, hub.Comments("org/shop", 7))
	if !w.noLock {
		at := <-freed
		if at.IsZero() {
			t.Fatalf("the lock is never free\nmain:\n%s\npost:\n%s", mainLog, post.Log)
		}
		r.free, r.byPost = max(0, at.Sub(step.Cancelled())), held
		if m.lives && r.free > windowLimit {
			t.Errorf("the lock was free after %.1f s:\n%s", r.free.Seconds(), mainLog)
		}
	}
	lost := s.forgotten()

	// What the deploy was in the middle of goes on by itself.
	close(s.faded)
	for _, id := range s.ids {
		s.RemoveFault(id)
	}
	if w.release != nil {
		w.release(s)
	}
	next := wait(t, s.startUse(t, use))
	r.next = next.Outputs["outcome"]
	live := s.live()
	r.complete = len(lost) == 0 && len(live) == w.queues && len(s.CloudControl.Resources()) == w.others
	if !r.complete {
		t.Errorf("not accounted for: %q; in the end AWS has %d queues, want %d: %q", lost, len(live), w.queues, live)
	}
	if next.ExitCode != 0 {
		t.Errorf("the next run: exit %d, outcome %s\nmain:\n%s\npost:\n%s\nnext:\n%s", next.ExitCode, r.next, mainLog, post.Log, next.Log)
	}
	s.wantOwned()
	if w.once != [2]string{} && s.asked(2, w.once[0], w.once[1], sandbox.Open, sandbox.Done) {
		t.Errorf("the next run asked for %s again", w.once[1])
	}
	if m.lives && result.ExitCode != 130 {
		t.Errorf("exit %d, want 130:\n%s", result.ExitCode, mainLog)
	}
	return r
}

// wantToldOf wants the summary and the comment to say of a deploy that it was
// cancelled and what is pending (G-8.8), whichever step did.
func (s *scene) wantToldOf(open string, main, post *runner.Result, comments []githubtest.Comment) {
	s.t.Helper()
	if len(comments) != 1 {
		s.t.Errorf("there are %d comments, want one\npost:\n%s", len(comments), post.Log)
		return
	}
	wants := []string{"was cancelled"}
	if open != "" {
		wants = append(wants, "**Still open**", open)
	}
	for where, text := range map[string]string{"comment": comments[0].Body, "summary": main.Summary + post.Summary} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				s.t.Errorf("the %s does not say %q:\n%s\npost:\n%s", where, want, text, post.Log)
			}
		}
	}
}

// awaitWork waits until the deploy is in the middle of a work.
func (s *scene) awaitWork(step *runner.Step, w work) {
	s.t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !w.begun(s) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the deploy did not come as far:\n%s", step.Log())
		}
		<-tick.C
	}
}

// watchLock tells when the lock is gone; a zero time when it never is.
func (s *scene) watchLock(ctx context.Context) <-chan time.Time {
	at := make(chan time.Time, 1)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, held := s.S3.Object(bucket, lockKey); !held {
				at <- time.Now()
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				close(at)
				return
			}
		}
	}()
	return at
}

// wantOwned wants everything in the workspace to belong to the workspace's owner,
// except what the test wrote there itself.
func (s *scene) wantOwned() {
	s.t.Helper()
	err := filepath.WalkDir(s.job.Workspace, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			if uid := ownerOf(s.t, path); uid != 1001 && !strings.HasSuffix(path, "/go") {
				s.t.Errorf("%s belongs to %d", path, uid)
			}
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// verdict is what a post step comes to.
func verdict(log string) string {
	for _, v := range []struct{ says, verdict string }{
		{"is released now", "was left behind, released"},
		{"was left alone", "still at work, left alone"},
		{"no lock of the run is left", "free"},
		{"asked for no lock", "had none"},
		{"ended by itself", "ended by itself"},
		{"did not get as far", "had not begun"},
	} {
		if strings.Contains(log, v.says) {
			return v.verdict
		}
	}
	return "?"
}

func render(rows map[string]row) string {
	var b strings.Builder
	b.WriteString("| in the middle of | ended by | lock free after | state complete | post step: the lock | next run |\n|---|---|---|---|---|---|\n")
	for _, w := range works {
		for _, m := range manners {
			r, ok := rows[w.name+"/"+m.name]
			if !ok {
				continue
			}
			free := "–"
			if r.free >= 0 {
				free = fmt.Sprintf("%.1f s", r.free.Seconds())
				if r.byPost {
					free += ", by the post step"
				}
			}
			complete := "no"
			if r.complete {
				complete = "yes"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.work, r.manner, free, complete, r.verdict, r.next)
		}
	}
	return b.String()
}

// writeSection puts text between the marks of a section of docs/cancellation.md.
func writeSection(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(root, "docs", "cancellation.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/cancellation.md has no section %s", name)
	}
	if err := os.WriteFile(path, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
