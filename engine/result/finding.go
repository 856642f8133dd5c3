package result

// A Verdict is what a look at one thing came to.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // it works, or may, with something missing
	Fail Verdict = "fail" // a deploy would fail, or go wrong
)

// A Finding is what doctor found out about one thing.
type Finding struct {
	Subject string
	Verdict Verdict
	Text    string
	Remedy  string // what to do about it, "" when it is ok
	Reason  Reason // the word for why a deploy would fail, if it would
}
