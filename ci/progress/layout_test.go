package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
)

var begin = time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)

func table() *Table {
	return New(func(text string) string { return text }, func() {})
}

func shop(id string) Key { return Key{Stack: "Shop", Region: "eu-west-1", LogicalID: id} }

// busy is a table in the middle of a deploy.
func busy() *Table {
	t := table()
	t.Begin(Key{Stack: "Shop", Region: "eu-west-1"}, "", "plan", begin)
	t.Expect(Key{Stack: "Shop", Region: "eu-west-1"}, []string{"Queue", "Orders", "Worker", "Policy", "Alarm"})
	t.Begin(shop("Queue"), "AWS::SQS::Queue", "create", begin)
	t.Begin(shop("Orders"), "AWS::DynamoDB::Table", "create", begin.Add(time.Second))
	t.Note(shop("Orders"), "waiting for table ACTIVE (CREATING)")
	t.Begin(shop("Worker"), "AWS::Lambda::Function", "replacement", begin.Add(60*time.Second))
	t.End(shop("Queue"), false)
	return t
}

func TestFrame(t *testing.T) {
	failed := busy()
	failed.End(shop("Worker"), true)
	planning := table()
	planning.Begin(Key{Stack: "Shop", Region: "eu-west-1"}, "", "plan", begin)
	planning.Note(Key{Stack: "Shop", Region: "eu-west-1"}, "the lock is held by run 7")
	stopped := busy()
	stopped.Stop()
	stopped.Expect(Key{Stack: "Other"}, []string{"Never"})
	over := busy()
	over.Begin(Key{Stack: "Shop~Child", Region: "eu-west-1", LogicalID: "Inner"}, "AWS::SNS::Topic", "create", begin)
	over.Close(Key{Stack: "Shop", Region: "eu-west-1"})
	wide := table()
	wide.Begin(Key{Stack: "店", Region: "", LogicalID: "注文キュー"}, "Custom::注文", "create", begin)
	wide.Begin(Key{Stack: "Shop", Region: "", LogicalID: "Queue"}, "AWS::SQS::Queue", "create", begin)

	tests := []struct {
		name          string
		table         *Table
		width, height int
		want          []string
	}{
		{"room for everything", busy(), 120, 30, []string{
			"  Shop  Orders  AWS::DynamoDB::Table   create       1m29s  waiting for table ACTIVE (CREATING)",
			"  Shop  Worker  AWS::Lambda::Function  replacement    30s",
			"  1 done · 2 under way · 2 waiting · 1m30s",
		}},
		{"what is waited for is cut first", busy(), 80, 30, []string{
			"  Shop  Orders  AWS::DynamoDB::Table   create       1m29s  waiting for table A…",
			"  Shop  Worker  AWS::Lambda::Function  replacement    30s",
			"  1 done · 2 under way · 2 waiting · 1m30s",
		}},
		{"the type goes before the stack, and what is done stays", busy(), 40, 30, []string{
			"  Shop  Orders  create       1m29s",
			"  Shop  Worker  replacement    30s",
			"  1 done · 2 under way · 2 waiting · 1…",
		}},
		{"no room for a stack", busy(), 34, 30, []string{
			"  Orders  create       1m29s",
			"  Worker  replacement    30s",
			"  1 done · 2 under way · 2 waiti…",
		}},
		{"as many lines as there are, less the cursor's", busy(), 120, 4, []string{
			"  Shop  Orders  AWS::DynamoDB::Table   create       1m29s  waiting for table ACTIVE (CREATING)",
			"  Shop  Worker  AWS::Lambda::Function  replacement    30s",
			"  1 done · 2 under way · 2 waiting · 1m30s",
		}},
		{"those that began first stay, the others are counted", busy(), 120, 3, []string{
			"  and 2 more",
			"  1 done · 2 under way · 2 waiting · 1m30s",
		}},
		{"a single line", busy(), 120, 2, []string{"  1 done · 2 under way · 2 waiting · 1m30s"}},
		{"failures are counted apart", failed, 120, 30, []string{
			"  Shop  Orders  AWS::DynamoDB::Table  create  1m29s  waiting for table ACTIVE (CREATING)",
			"  1 done · 1 failed · 1 under way · 2 waiting · 1m30s",
		}},
		{"a stack that waits for its lock", planning, 120, 30, []string{
			"  Shop  plan  1m30s  the lock is held by run 7",
			"  0 done · 0 under way · 0 waiting · 1m30s",
		}},
		{"after a signal nothing waits any more", stopped, 120, 30, []string{
			"  Shop  Orders  AWS::DynamoDB::Table   create       1m29s  waiting for table ACTIVE (CREATING)",
			"  Shop  Worker  AWS::Lambda::Function  replacement    30s",
			"  1 done · 2 under way · 0 waiting · 1m30s",
		}},
		{"a stack that is over takes those nested in it along", over, 120, 30, nil},
		{"characters of two columns", wide, 120, 30, []string{
			"  店    注文キュー  Custom::注文     create  1m30s",
			"  Shop  Queue       AWS::SQS::Queue  create  1m30s",
			"  0 done · 2 under way · 0 waiting · 1m30s",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.table.frame(tt.width, tt.height, begin.Add(90*time.Second))
			if diff := cmp.Diff(tt.want, got.lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever is under way, a line that reached the last column, or a table that is
// higher than the terminal, could not be taken away again.
func TestFrameFitsEveryTerminal(t *testing.T) {
	table := table()
	for i := range 12 {
		k := Key{Stack: strings.Repeat("Stack", i%4+1), LogicalID: fmt.Sprintf("%s%d", strings.Repeat("注文🛒é", i%5), i)}
		table.Begin(k, strings.Repeat("AWS::Some::Thing", i%3+1), "rollback replacement", begin)
		table.Note(k, strings.Repeat("待つ", i))
	}
	for _, width := range []int{1, 2, 3, 5, 8, 12, 19, 20, 21, 35, 50, 51, 52, 53, 79, 80, 81, 120, 250} {
		for _, height := range []int{1, 2, 3, 12, 13, 14, 15, 60} {
			lines := table.frame(width, height, begin.Add(time.Hour)).lines
			if len(lines) > max(height-1, 1) {
				t.Fatalf("%d lines on a terminal of %d", len(lines), height)
			}
			for _, l := range lines {
				if w := runewidth.StringWidth(l); w >= max(width, 2) {
					t.Fatalf("a line of %d columns on a terminal of %d: %q", w, width, l)
				}
			}
		}
	}
}

func TestColumnsDoNotJump(t *testing.T) {
	table := table()
	table.Begin(shop("AVeryLongLogicalID"), "AWS::DynamoDB::Table", "create", begin)
	table.Begin(shop("Queue"), "AWS::SQS::Queue", "create", begin)
	before := table.frame(80, 24, begin).lines[1]
	table.End(shop("AVeryLongLogicalID"), false)
	if after := table.frame(80, 24, begin).lines[0]; after != before {
		t.Errorf("%q became %q", before, after)
	}
	if got, want := table.frame(48, 24, begin).lines[0], "  Shop  Queue       AWS::SQS::Queue  create  0s"; got != want {
		t.Errorf("got %q, want %q: nothing is cut to keep a column where it was", got, want)
	}
}

// What begins twice is one thing, with the time of the first.
func TestBeginTwice(t *testing.T) {
	table := table()
	table.Begin(shop("Worker"), "AWS::Lambda::Function", "create", begin)
	table.Note(shop("Worker"), "its assets are published")
	table.Begin(shop("Worker"), "AWS::Lambda::Function", "create", begin.Add(time.Minute))
	want := []string{"  Shop  Worker  AWS::Lambda::Function  create  1m30s", "  0 done · 1 under way · 0 waiting · 1m30s"}
	if diff := cmp.Diff(want, table.frame(80, 24, begin.Add(90*time.Second)).lines); diff != "" {
		t.Error(diff)
	}
}

func TestNobodySeesANilTable(t *testing.T) {
	var table *Table
	table.Begin(shop("Queue"), "AWS::SQS::Queue", "create", begin)
	table.Note(shop("Queue"), "")
	table.End(shop("Queue"), false)
	table.Stop()
	table.Reset()
	if table.Shows(shop("Queue")) {
		t.Error("a table that is not there shows something")
	}
}
