package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestIntentLicenses(t *testing.T) {
	const sent = 1_000_000_000
	after := func(d time.Duration) time.Time { return time.UnixMilli(sent).Add(d) }
	ms := func(d time.Duration) int64 { return after(d).UnixMilli() }
	none := time.Time{}
	for _, tt := range []struct {
		name              string
		failed, abandoned int64
		created           time.Time
		want              bool
	}{
		{"crashed: created at the time (S-235, S-240)", 0, 0, after(0), true},
		{"crashed: created much later (S-240)", 0, 0, after(24 * time.Hour), true},
		{"crashed: created before, within the clocks' difference (S-242)", 0, 0, after(-time.Minute), true},
		{"crashed: created before (S-235, S-242)", 0, 0, after(-time.Minute - time.Millisecond), false},
		{"crashed: no creation time, by name (S-236)", 0, 0, none, true},
		{"failed: created before it failed (S-235)", ms(time.Hour), 0, after(time.Minute), true},
		{"failed: created after, within the clocks' difference (S-242)", ms(time.Hour), 0, after(time.Hour + time.Minute), true},
		{"failed: created after it failed (S-235)", ms(time.Hour), 0, after(time.Hour + time.Minute + time.Millisecond), false},
		{"failed: created before it was sent (S-235)", ms(time.Hour), 0, after(-time.Hour), false},
		{"failed: no creation time licenses nothing (S-236)", ms(time.Hour), 0, none, false},
		{"abandoned: created before its run ended (S-235)", 0, ms(time.Hour), after(time.Minute), true},
		{"abandoned: created at the end, within the clocks' difference (S-242)", 0, ms(time.Hour), after(time.Hour + time.Minute), true},
		{"abandoned: created after its run ended (S-235)", 0, ms(time.Hour), after(2 * time.Hour), false},
		{"abandoned: no creation time licenses nothing (S-236)", 0, ms(time.Hour), none, false},
		{"sent at the very end of the run: bounded (S-239)", 0, ms(0), none, false},
		{"an earlier run's end does not bound it (S-239)", 0, ms(-time.Millisecond), none, true},
		{"an earlier run's end does not bound it, with a creation time (S-239)", 0, ms(-time.Hour), after(time.Hour), true},
		{"failed and abandoned: the earlier bound counts (S-235)", ms(time.Minute), ms(time.Hour), after(30 * time.Minute), false},
		{"failed and abandoned, created before both (S-235)", ms(time.Minute), ms(time.Hour), after(time.Second), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Entry{Base: adoptBase + typeTopic, Token: "n", FirstSentAt: sent, FailedAt: tt.failed}
			if got := e.licenses(tt.created, tt.abandoned); got != tt.want {
				t.Errorf("licenses %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSameResource(t *testing.T) { // (S-211)
	const lb = "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/app/shop/50dc6c49"
	for _, tt := range []struct {
		typ, a, b string
		want      bool
	}{
		{"AWS::Logs::LogGroup", "/a", "/a", true},
		{"AWS::Logs::LogGroup", "/a", "/A", false},
		{"AWS::Logs::LogGroup", "", "", false},
		{typeQueue, "https://sqs.eu-west-1.amazonaws.com/1/q", "https://eu-west-1.queue.amazonaws.com/1/q", true},
		{typeQueue, "https://sqs.eu-west-1.amazonaws.com/1/q", "https://sqs.eu-west-1.amazonaws.com/2/q", false},
		{typeQueue, "https://sqs.eu-west-1.amazonaws.com/1/q", "q", false},
		{typeQueue, "a", "b", false},
		{typeTopic, "arn:aws:sns:eu-west-1:1:t", "arn:aws:sns:eu-west-1:2:t", false},
		{typeLoadBalancer, lb, lb, true},
		{typeLoadBalancer, lb, "shop", true},
		{typeLoadBalancer, lb, lb + "0", false},
		{typeTargetGroup, "shop", "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/shop/50dc", true},
		{typeTargetGroup, "shop2", "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/shop/50dc", false},
	} {
		if got := SameResource(tt.typ, tt.a, tt.b); got != tt.want {
			t.Errorf("%s %q and %q: %v, want %v", tt.typ, tt.a, tt.b, got, tt.want)
		}
		if got := SameResource(tt.typ, tt.b, tt.a); got != tt.want {
			t.Errorf("%s %q and %q: %v, want %v", tt.typ, tt.b, tt.a, got, tt.want)
		}
	}
}

func TestEntryDone(t *testing.T) { // (S-240, P-10)
	row := func(typ, id string) *Resource { return &Resource{ResourceType: typ, PhysicalID: id} }
	const key = "AWS::KMS::Key"
	replaced := Intent{LogicalID: "K", Type: key, Replaces: "old"}.base()
	for _, tt := range []struct {
		name        string
		base, token string
		row         *Resource
		want        bool
	}{
		{"no row", createBase + key, "t", nil, false},
		{"a row of the type", createBase + key, "t", row(key, "k"), true},
		{"a row of another type", createBase + key, "t", row(typeQueue, "k"), false},
		{"the row is still the old copy", replaced, "t", row(key, "old"), false},
		{"the row is the new copy", replaced, "t", row(key, "new"), true},
		{"the row has the name", adoptBase + typeQueue, "q", row(typeQueue, "https://sqs.eu-west-1.amazonaws.com/1/q"), true},
		{"the row has another name", adoptBase + typeQueue, "q.fifo", row(typeQueue, "https://sqs.eu-west-1.amazonaws.com/1/q"), false},
		{"a rule on a bus", adoptBase + typeRule, "r", row(typeRule, "bus|r"), true},
		{"a rule's ARN", adoptBase + typeRule, "r", row(typeRule, "arn:aws:events:eu-west-1:1:rule/bus/r"), true},
		{"a topic", adoptBase + typeTopic, "t", row(typeTopic, "arn:aws:sns:eu-west-1:1:t"), true},
		{"a cluster", adoptBase + typeCluster, "c", row(typeCluster, "arn:aws:ecs:eu-west-1:1:cluster/c"), true},
		{"a log group with slashes", adoptBase + "AWS::Logs::LogGroup", "/a/b", row("AWS::Logs::LogGroup", "/a/b"), true},
		{"another writer's kind of entry", "efs", "t", row(key, "k"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Entry{Base: tt.base, Token: tt.token}).done(tt.row); got != tt.want {
				t.Errorf("done %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOwnerTag(t *testing.T) { // (S-213)
	e := Entry{Base: adoptBase + typeTopic, Token: "shop-topic", FirstSentAt: 5}
	const want = "4feca31a65c4b566af6b555b4aa14787" // printf 'Topic\0shop-topic\0005' | openssl dgst -sha256 -hmac nonce
	if got := e.OwnerTag("nonce", "Topic"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, other := range []string{
		e.OwnerTag("nonce", "Topic"), e.OwnerTag("other", "Topic"), e.OwnerTag("nonce", "Topi"),
		Entry{Base: e.Base, Token: "shop-topic2", FirstSentAt: 5}.OwnerTag("nonce", "Topic"),
		Entry{Base: e.Base, Token: "shop-topic", FirstSentAt: 6}.OwnerTag("nonce", "Topic"),
	} {
		if len(other) != 32 || seen[other] {
			t.Errorf("tag %s, of %v", other, seen)
		}
		seen[other] = true
	}
	token := Entry{Base: createBase + "AWS::KMS::Key", Token: "00112233445566778899aabbccddeeff"}
	if got := token.OwnerTag("nonce", "Key"); got != token.Token {
		t.Errorf("got %s, want the token", got)
	}
}

// A create that is sent without the tag says so in its token, whatever the run
// that reads it does with its own (S-213).
func TestUntaggedLedger(t *testing.T) {
	c, k := shop(t)
	l := k.OpenLedger(t.Context(), false, nil)
	l.Untag()
	tickets, err := l.Intend(t.Context(), queueIntent("Q"), Intent{LogicalID: "K", Type: "AWS::KMS::Key"})
	if err != nil || tickets[0].OwnerTag+tickets[1].OwnerTag != "" || len(tickets[1].Token) != 32 {
		t.Fatalf("%v %+v", err, tickets)
	}
	l = k.OpenLedger(t.Context(), true, nil)
	again, err := l.Intend(t.Context(), Intent{LogicalID: "K", Type: "AWS::KMS::Key", Keep: true}, Intent{LogicalID: "L", Type: "AWS::KMS::Key"})
	if err != nil || again[0] != tickets[1] || again[1].OwnerTag != again[1].Token {
		t.Errorf("%v: %+v, want %+v and one with a tag", err, again, tickets[1])
	}
	l = k.OpenLedger(t.Context(), true, nil)
	l.Untag()
	if kept, err := l.Intend(t.Context(), Intent{LogicalID: "L", Type: "AWS::KMS::Key", Keep: true}); err != nil || kept[0] != again[1] {
		t.Errorf("%v: %+v, want %+v as it was sent", err, kept, again[1])
	}
	if _, tag := l.Sent("K"); tag != "" {
		t.Errorf("K gave the tag %s", tag)
	}
	if _, err := parseLedger(ledgerKey, []byte(c.body(t, ledgerKey))); err != nil {
		t.Error(err)
	}
	for token, want := range map[string]string{tickets[1].Token + "-2": "", again[1].Token + "-2": again[1].Token} {
		if got := OwnerTagOf(token); got != want {
			t.Errorf("%s: %q, want %q", token, got, want)
		}
	}
}

func TestFateOf(t *testing.T) { // (S-234)
	answered := func(status int, code string) error {
		return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      &smithy.GenericAPIError{Code: code},
		}}
	}
	for _, tt := range []struct {
		name string
		err  error
		want Fate
	}{
		{"it worked", nil, FateOver},
		{"refused", answered(400, "InvalidParameterValue"), FateNothing},
		{"refused, wrapped", fmt.Errorf("create queue: %w", answered(403, "AccessDenied")), FateNothing},
		{"throttled", answered(400, "ThrottlingException"), FateUnknown},
		{"throttled by status", answered(429, "X"), FateUnknown},
		{"timed out by status", answered(408, "RequestTimeout"), FateUnknown},
		{"the service failed", answered(500, "InternalError"), FateUnknown},
		{"no answer", errors.New("connection reset by peer"), FateUnknown},
		{"out of time", context.DeadlineExceeded, FateUnknown},
		{"refused, after an attempt without an answer", errors.Join(answered(400, "AlreadyExists"), context.DeadlineExceeded), FateUnknown},
		{"refused, after an attempt that failed", errors.Join(answered(400, "AlreadyExists"), answered(503, "ServiceUnavailable")), FateUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FateOf(tt.err); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
