package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/result"
)

// volumeSnapshots are the snapshots of EC2, which the emulators have of no volume
// that Cloud Control made.
type volumeSnapshots struct {
	mu       sync.Mutex
	state    string // "": there is none
	refuse   bool
	at       string // the state of one that was just asked for
	asked    []string
	awaiting chan struct{} // closes when one is read that is not complete
	once     sync.Once
}

func (v *volumeSnapshots) answer(r *http.Request) *http.Response {
	if !strings.Contains(r.Header.Get("Authorization"), "/ec2/") {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	v.asked = append(v.asked, form.Get("Action"))
	out := httptest.NewRecorder()
	switch form.Get("Action") {
	case "CreateSnapshot":
		if v.refuse {
			out.WriteHeader(http.StatusForbidden)
			out.WriteString("<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>not you</Message></Error></Errors></Response>")
			break
		}
		v.state = v.at
		out.WriteString("<R><snapshotId>snap-1</snapshotId></R>")
	case "DescribeSnapshots":
		item := ""
		if v.state != "" {
			item = fmt.Sprintf("<item><snapshotId>snap-1</snapshotId><status>%s</status><startTime>%s</startTime></item>", v.state, time.Now().UTC().Format(time.RFC3339))
		}
		if v.state == "pending" {
			v.once.Do(func() { close(v.awaiting) })
		}
		fmt.Fprintf(out, "<R><snapshotSet>%s</snapshotSet></R>", item)
	}
	res := out.Result()
	res.Request = r
	res.Body = io.NopCloser(bytes.NewReader(out.Body.Bytes()))
	return res
}

// A volume whose policy is Snapshot is deleted when its snapshot is complete.
// Refused, it is kept (S-303); cancelled meanwhile, it is not deleted and nothing
// is open, and the next run goes on with the same snapshot (T-836).
func TestVolumeIsSnappedBeforeItGoes(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Disk": {"Type": "AWS::EC2::Volume", "DeletionPolicy": "Snapshot",
		"Properties": {"AvailabilityZone": "us-east-1a", "Size": 1}}}}`)
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	v := &volumeSnapshots{awaiting: make(chan struct{}), refuse: true, at: "pending"}
	s.instead = v.answer

	st := s.run().destroy()
	s.want(st, result.Partial)
	if said := fmt.Sprint(st.Unaddressed); !strings.Contains(said, "the final snapshot of Disk (AWS::EC2::Volume) was not completed, so it was kept") {
		t.Errorf("said %s", said)
	}

	v.refuse = false
	r := s.run()
	done := make(chan *result.Stack, 1)
	go func() { done <- r.destroy() }()
	<-v.awaiting
	r.signals <- syscall.SIGINT
	s.want(<-done, result.Cancelled)
	if s.count("DeleteResource") != 0 || len(s.groups()) != 1 {
		t.Errorf("it was deleted before its snapshot was complete\n%s", s.log.String())
	}
	if body := s.object(slowPending); body != "" {
		t.Errorf("a delete that was not sent is open:\n%s", body)
	}
	if s.object(slowKey+"lock.json") != "" || !strings.Contains(s.object(slowKey+"state.json"), "Disk") {
		t.Errorf("lock: %s\nrecord: %s", s.object(slowKey+"lock.json"), s.object(slowKey+"state.json"))
	}

	v.state = "completed"
	s.want(s.run().destroy(), result.Success)
	if n := strings.Count(strings.Join(v.asked, " "), "CreateSnapshot"); n != 2 { // the refused one and the other
		t.Errorf("asked for %s", v.asked)
	}
	if s.count("DeleteResource") != 1 || len(s.groups()) != 0 || s.object(slowKey+"state.json") != "" {
		t.Errorf("it is still there\n%s", s.log.String())
	}
}

// A replacement of what holds data is made where the old copy leaves a snapshot
// (T-822), and refused before anything is touched where it cannot (T-830,
// T-831).
func TestReplacedVolumeLeavesASnapshot(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Disk": {"Type": "AWS::EC2::Volume", "UpdateReplacePolicy": "Snapshot",
		"Properties": {"AvailabilityZone": "us-east-1a", "Size": 1}}}}`)
	s.CloudControl.SetDelay(0)
	v := &volumeSnapshots{at: "completed"}
	s.instead = v.answer
	s.want(s.run().deploy(), result.Success)
	s.edit("us-east-1a", "us-east-1b")
	s.want(s.run().deploy(), result.Success)
	if got := strings.Join(v.asked, " "); got != "DescribeSnapshots CreateSnapshot DescribeSnapshots" {
		t.Errorf("asked for %s", got)
	}
	if s.count("DeleteResource") != 1 || len(s.groups()) != 1 {
		t.Errorf("there are %v\n%s", s.groups(), s.log.String())
	}

	s = startSlow(t, `{"Resources": {"Shared": {"Type": "AWS::RDS::DBInstance", "UpdateReplacePolicy": "Snapshot",
		"Properties": {"DBInstanceIdentifier": "group", "Engine": "mysql", "AutomaticBackupReplicationRegion": "us-west-2"}}}}`) // which Cloud Control makes
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.ClearLog()
	s.edit(`"group"`, `"other"`)
	st := s.run().deploy()
	s.want(st, result.Failed)
	if said := fmt.Sprint(st.Failures); !strings.Contains(said, "asks for a final snapshot of the old one, and none can be taken") || s.count("CreateResource") != 0 {
		t.Errorf("said %s\n%s", said, s.log.String())
	}
}
