package state

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeldMessage(t *testing.T) { // (S-101, S-102, S-103)
	now := time.Now()
	base := HeldError{
		Subject: "stack", Stack: "Shop", Region: "eu-west-1", Readable: true, Owner: "bob@host:1", Operation: "deploy",
		ExpiresAt: now.Add(11*time.Minute + 40*time.Second), Seen: now, Attempts: 4, bucket: "b", prefix: "cdkd",
	}
	const unlock = "cdkd force-unlock Shop --stack-region eu-west-1 --state-bucket b"
	for _, tt := range []struct {
		name          string
		edit          func(*HeldError)
		text, command string
		advice        string
	}{
		{"a holder", func(*HeldError) {},
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it expires in 12 minutes (4 attempts)", unlock, "is dead"},
		{"one minute", func(e *HeldError) { e.ExpiresAt = now.Add(70 * time.Second); e.Attempts = 1 },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it expires in 1 minute (1 attempt)", unlock, "is dead"},
		{"under a minute", func(e *HeldError) { e.ExpiresAt = now.Add(59 * time.Second) },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it expires in less than a minute (4 attempts)", unlock, "is dead"},
		{"expired, and not to be taken over", func(e *HeldError) { e.ExpiresAt = now; e.Refused = "why" },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it has expired, but why (4 attempts)", unlock, "is dead"},
		{"unknown expiry, no operation", func(e *HeldError) { e.ExpiresAt = time.Time{}; e.Operation = "" },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1; when it expires is not known (4 attempts)", unlock, "is dead"},
		{"an unnamed holder is not said to run", func(e *HeldError) { e.Owner = "" },
			"the lock of stack Shop in eu-west-1 is held by a holder that it does not name for deploy; it expires in 12 minutes (4 attempts)", unlock, "find out"},
		{"no lock could be read (S-98, S-438)", func(e *HeldError) { e.Readable = false; e.Attempts = 7 },
			"the lock of stack Shop in eu-west-1 could not be taken, and no lock could be read at the last attempt (7 attempts)", unlock, "only force-unlock"},
		{"another bucket, prefix and profile", func(e *HeldError) { e.prefix, e.profile = "team/a", "prod" },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it expires in 12 minutes (4 attempts)",
			"cdkd force-unlock Shop --stack-region eu-west-1 --profile prod --state-bucket b --state-prefix team/a", "is dead"},
		{"no prefix", func(e *HeldError) { e.prefix = "" },
			"the lock of stack Shop in eu-west-1 is held by bob@host:1 for deploy; it expires in 12 minutes (4 attempts)",
			unlock + " --state-prefix ''", "is dead"},
		{"a name that a shell could read: no command", func(e *HeldError) { e.Stack = "Shop;rm" },
			"the lock of stack Shop;rm in eu-west-1 is held by bob@host:1 for deploy; it expires in 12 minutes (4 attempts)", "", "is dead"},
		{"a name that reads like a flag: no command", func(e *HeldError) { e.Stack = "--all" },
			"the lock of stack --all in eu-west-1 is held by bob@host:1 for deploy; it expires in 12 minutes (4 attempts)", "", "is dead"},
		{"control characters are dropped", func(e *HeldError) { e.Owner = "bo\x1b[2Jb\n::set-output" },
			"the lock of stack Shop in eu-west-1 is held by bo[2Jb::set-output for deploy; it expires in 12 minutes (4 attempts)", unlock, "is dead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := base
			tt.edit(&e)
			if diff := cmp.Diff([]string{tt.text, tt.command}, []string{e.Error(), e.Command()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			remedy := e.Remedy()
			if !strings.Contains(remedy, tt.advice) {
				t.Errorf("remedy %q does not say %q", remedy, tt.advice)
			}
			if lines := strings.Split(remedy, "\n"); tt.command != "" && lines[len(lines)-1] != tt.command {
				t.Errorf("the last line of the remedy is %q, want %q", lines[len(lines)-1], tt.command)
			}
		})
	}
}
