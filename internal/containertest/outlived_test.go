package containertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/internal/sandbox"
)

// The post step waits for a container whose client was killed, shows the rest of
// its log, and does not say that it was cancelled when it was not (G-0.4, S-440,
// G-8.8).
func testOutlived(t *testing.T) {
	s := &scene{awsAccount: newAccountWith(t, sandbox.Options{}, place), t: t}
	w := work{queues: 4}
	s.writeApp(w, "cdk.out")
	hub := s.onPullRequest(t)
	use := s.use(full, "cdk.out", map[string]string{"stacks": stack})
	held := s.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Nth: 2, Hold: true})
	step := s.startUse(t, use)
	w.begun = func(s *scene) bool { return s.asked(1, "sqs", "CreateQueue", sandbox.Held) }
	s.awaitWork(step, w)
	step.KillClient()
	main := wait(t, step)

	postUse, ok := main.Post(use)
	if !ok {
		t.Fatal("the action has no post step")
	}
	post := s.startUse(t, postUse)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := post.AwaitLog(ctx, "its log goes on here"); err != nil {
		t.Fatal(err)
	}
	if _, locked := s.S3.Object(bucket, lockKey); !locked {
		t.Error("the lock of a container at work is gone")
	}
	s.Release(held)
	r := wait(t, post)
	for _, want := range []string{"Deployed", "has ended with exit code 0", "no lock of the run is left"} {
		if r.ExitCode != 0 || !strings.Contains(r.Log, want) {
			t.Errorf("the post step exits with %d and does not say %q:\n%s", r.ExitCode, want, r.Log)
		}
	}
	if comments := hub.Comments("org/shop", 7); len(comments) != 1 || !strings.Contains(comments[0].Body, "Deployed") || strings.Contains(r.Summary+comments[0].Body, "was cancelled") {
		t.Errorf("the comments are %+v, and the summary is\n%s", comments, r.Summary)
	}
	if live := s.live(); len(live) != w.queues {
		t.Errorf("AWS has %q", live)
	}
}
