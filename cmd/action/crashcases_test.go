package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A disturbance is what happens to one request of a run.
type disturbance struct {
	name  string
	fault sandbox.Fault
	kill  bool // the program is killed while the fault holds the request
	lasts bool // whatever comes after it is disturbed too
}

var disturbances = []disturbance{
	{name: "killed before", fault: sandbox.Fault{Hold: true, Drop: true}, kill: true},
	{name: "killed after", fault: sandbox.Fault{Hold: true, Drop: true, After: true}, kill: true},
	{name: "answer lost", fault: sandbox.Fault{Drop: true, After: true}},
	{name: "answered 500", fault: sandbox.Fault{Status: http.StatusInternalServerError, Code: "InternalFailure", Message: "as the test wants it"}},
	{name: "throttled", fault: sandbox.Fault{Status: http.StatusBadRequest, Code: "ThrottlingException", Message: "as the test wants it"}},
	{name: "denied", fault: sandbox.Fault{Status: http.StatusForbidden, Code: "AccessDenied", Message: "as the test wants it"}},
}

// A crashStory is a run that is disturbed and the one that has to put it right.
type crashStory struct {
	name   string
	before [][]string // runs that are not disturbed; the last may fail
	run    []string
	after  []string
}

// crashApps are the versions of the app, by what is changed of it.
var crashApps = map[string][][2]string{
	"crash": nil,
	// Resources are changed, one is added, and another that AWS refuses when the
	// others are done.
	"broken": {
		{`"VisibilityTimeout": 45`, `"VisibilityTimeout": 50`},
		{`"Threshold": 1`, `"Threshold": 2`},
		{`"Size": 3`, `"Size": 4`},
		{`"Name": "crash"`, `"Name": "broken"`},
		{`"Role": {`, `"Added": {"Type": "AWS::SNS::Topic", "Properties": {}},
    "Never": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "Crash-Inner-Name", "Value": "held"}, "DependsOn": ["Added", "Queue", "Alarm", "Thing", "Settings"]},
    "Role": {`},
	},
	// The table and the role keep their names, so that the old ones go first. The
	// subnet has none, and its old one goes last.
	"renewed": {
		{`"AttributeName": "id", "KeyType"`, `"AttributeName": "key", "KeyType"`},
		{`"AttributeName": "id", "AttributeType"`, `"AttributeName": "key", "AttributeType"`},
		{`"Role": {
      "Type": "AWS::IAM::Role",
      "Properties": {`, `"Role": {
      "Type": "AWS::IAM::Role",
      "Properties": {"Path": "/crash/", `},
		{`"CidrBlock": "10.7.1.0/24"`, `"CidrBlock": "10.7.2.0/24"`},
	},
}

var (
	deployCrash  = []string{"deploy", "--app", "crash"}
	deployBroken = []string{"deploy", "--app", "broken"}
	renewCrash   = []string{"deploy", "--app", "renewed", "--replace", "--force-stateful-recreation", "Table"}
	destroyCrash = []string{"destroy", "--app", "crash", "--yes"}
	rollBack     = []string{"rollback", "--yes"} // of whatever there is to roll back
)

// The story of the failed deploy rolls back by itself.
var crashStories = []crashStory{
	{"deploy", nil, deployCrash, deployCrash},
	{"failed deploy", [][]string{deployCrash}, deployBroken, deployCrash},
	{"rollback", [][]string{deployCrash, append(slices.Clip(deployBroken), "--no-rollback")}, rollBack, rollBack},
	{"destroy", [][]string{deployCrash}, destroyCrash, destroyCrash},
	{deployedAgain, [][]string{deployCrash}, destroyCrash, deployCrash},
	{"replacement", [][]string{deployCrash}, renewCrash, renewCrash},
}

// deployedAgain is the story that a kill is the test of: what is gone and still on
// record. The destroys of the other one are the same, so it begins its sample anew.
const deployedAgain = "destroy, then deploy"

// app is that which the stack is brought to.
func (s crashStory) app() string {
	if s.name == "replacement" {
		return "renewed"
	}
	return "crash"
}

// A crashCase is a disturbance of one request.
type crashCase struct {
	name string
	disturbance
}

// everyCase disturbs every request, in every way, or a share of that which has
// of all requests and of all ways.
func everyCase(log []sandbox.Request) (cases []crashCase) {
	for way, d := range disturbances {
		for i := range log {
			if !share.has(way + i) {
				continue
			}
			d.fault.Nth = i + 1
			cases = append(cases, crashCase{fmt.Sprintf("%s %d", d.name, i+1), d})
		}
	}
	return cases
}

// kinds are the kinds of requests that are disturbed already.
type kinds struct {
	seen map[sandbox.Fault]bool
	ways []disturbance
	turn int // of the ways
}

// volatile is where what is made up in each run begins in a name.
var volatile = regexp.MustCompile(`\b(vpc|subnet|user)-\w+|[0-9a-f-]{36}|\b[A-Z0-9]{26}\b`)

// address is where an AWS answers, which differs between those of a test.
var address = regexp.MustCompile(`^http://[^/]+`)

// cases are the first requests of each kind that was not disturbed yet: by call
// and by what it is about. Those on the state bucket are of another kind in each
// story.
func (k *kinds) cases(log []sandbox.Request) (cases []crashCase) {
	here := map[sandbox.Fault]bool{}
	for _, r := range log {
		about, own := strings.CutPrefix(address.ReplaceAllString(r.Resource, ""), stateBucket+"/")
		switch {
		case strings.HasSuffix(about, "/handover.json"):
			continue // asked for by a baseline that is late, which is a matter of time
		case strings.HasSuffix(about, ".jsonl"):
			about = ".jsonl"
		case strings.HasPrefix(about, "custom-resource-responses/"):
			about = "custom-resource-responses/"
		default:
			if at := volatile.FindStringIndex(about); at != nil {
				about = about[:at[0]]
			}
		}
		kind := sandbox.Fault{Service: r.Service, Action: r.Action, Mentions: about, Nth: 1}
		if here[kind] || !own && k.seen[kind] {
			continue
		}
		here[kind], k.seen[kind] = true, true
		d := k.ways[k.turn%len(k.ways)]
		k.turn++
		d.fault.Service, d.fault.Action, d.fault.Mentions, d.fault.Nth = kind.Service, kind.Action, kind.Mentions, kind.Nth
		cases = append(cases, crashCase{fmt.Sprintf("%s %s:%s %s", d.name, r.Service, r.Action, about), d})
	}
	return cases
}
