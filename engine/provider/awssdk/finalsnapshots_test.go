package awssdk

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// snapshots is a service that has snapshots of one resource, and answers in the
// words of the one whose type is asked about.
type snapshots struct {
	t      *testing.T
	typ    string
	list   string // the XML of the snapshots that there are
	done   string // the XML of one more, once it was asked for
	refuse string // the code that the call which takes one is refused with
	asked  []string
}

func (s *snapshots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(string(body))
	if err != nil {
		s.t.Error(err)
	}
	action := form.Get("Action")
	s.asked = append(s.asked, action)
	list := map[string]string{
		"AWS::EC2::Volume":                   "<DescribeSnapshotsResponse><snapshotSet>%s</snapshotSet></DescribeSnapshotsResponse>",
		"AWS::ElastiCache::ReplicationGroup": "<R><DescribeSnapshotsResult><Snapshots>%s</Snapshots></DescribeSnapshotsResult></R>",
		"AWS::Redshift::Cluster":             "<R><DescribeClusterSnapshotsResult><Snapshots>%s</Snapshots></DescribeClusterSnapshotsResult></R>",
		"AWS::Neptune::DBCluster":            "<R><DescribeDBClusterSnapshotsResult><DBClusterSnapshots>%s</DBClusterSnapshots></DescribeDBClusterSnapshotsResult></R>",
		"AWS::DocDB::DBCluster":              "<R><DescribeDBClusterSnapshotsResult><DBClusterSnapshots>%s</DBClusterSnapshots></DescribeDBClusterSnapshotsResult></R>",
	}[s.typ]
	switch {
	case strings.HasPrefix(action, "Describe"):
		fmt.Fprintf(w, list, s.list)
	case s.refuse != "" && s.typ == "AWS::EC2::Volume":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>%s</Code><Message>refused</Message></Error></Errors></Response>", s.refuse)
	case s.refuse != "":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>refused</Message></Error></ErrorResponse>", s.refuse)
	default:
		if got := string(body); !strings.Contains(got, "res-final-20260801-120509") || !strings.Contains(got, "=res") {
			s.t.Errorf("asked for by %s", got)
		}
		s.list += s.done
		fmt.Fprintf(w, "<R><snapshotId>snap-new</snapshotId><%[1]sResult></%[1]sResult></R>", action)
	}
}

// A resource whose delete takes no final snapshot is snapped before it. A
// snapshot that an earlier attempt began serves, but no complete one that is old:
// what was written since would be lost (T-836).
func TestSnapshotBeforeADelete(t *testing.T) {
	now := time.Now().UTC()
	recent, old := now.Add(-time.Minute), now.Add(-25*time.Hour)
	volume := func(id, state string, begun time.Time) string {
		return fmt.Sprintf("<item><snapshotId>%s</snapshotId><status>%s</status><startTime>%s</startTime></item>", id, state, begun.Format(time.RFC3339))
	}
	byName := func(element, id, status string) func(string, string, time.Time) string {
		return func(name, state string, begun time.Time) string {
			if name == "snap-new" {
				name = "res-final-20260801-120509"
			} else if !begun.IsZero() {
				name = "res-final-" + begun.Format("20060102-150405")
			}
			return fmt.Sprintf("<%[1]s><%[2]s>%[3]s</%[2]s><%[4]s>%[5]s</%[4]s></%[1]s>", element, id, name, status, state)
		}
	}
	cluster := byName("DBClusterSnapshot", "DBClusterSnapshotIdentifier", "Status")
	for typ, how := range map[string]struct {
		take, list, under, done, gone string
		item                          func(id, state string, begun time.Time) string
	}{
		"AWS::EC2::Volume":                   {"CreateSnapshot", "DescribeSnapshots", "pending", "completed", "InvalidVolume.NotFound", volume},
		"AWS::ElastiCache::ReplicationGroup": {"CreateSnapshot", "DescribeSnapshots", "creating", "available", "ReplicationGroupNotFoundFault", byName("Snapshot", "SnapshotName", "SnapshotStatus")},
		"AWS::Redshift::Cluster":             {"CreateClusterSnapshot", "DescribeClusterSnapshots", "creating", "available", "ClusterNotFound", byName("Snapshot", "SnapshotIdentifier", "Status")},
		"AWS::Neptune::DBCluster":            {"CreateDBClusterSnapshot", "DescribeDBClusterSnapshots", "creating", "available", "DBClusterNotFoundFault", cluster},
		"AWS::DocDB::DBCluster":              {"CreateDBClusterSnapshot", "DescribeDBClusterSnapshots", "creating", "available", "DBClusterNotFoundFault", cluster},
	} {
		taken := []string{how.list, how.take, how.list}
		for _, test := range []struct {
			name         string
			there, after string // before it is taken, and what comes when it is
			refuse       string
			want         []string
			err          string
		}{
			{"there is none", "", how.item("snap-new", how.done, now), "", taken, ""},
			{"one that failed", how.item("a", "error", recent), how.item("snap-new", how.done, now), "", taken, ""},
			{"an old one", how.item("a", how.done, old), how.item("snap-new", how.done, now), "", taken, ""},
			{"one that is just complete", how.item("a", how.done, recent), "", "", []string{how.list, how.list}, ""},
			{"one under way when the run ends", how.item("a", how.under, old), "", "", []string{how.list, how.list}, provider.ErrDraining.Error()},
			{"it fails", "", how.item("snap-new", "error", now), "", taken, "it became error"},
			{"it is refused", "", "", "SnapshotQuotaExceeded", []string{how.list, how.take}, "SnapshotQuotaExceeded"},
			{"the resource is gone", "", "", how.gone, []string{how.list, how.take}, ""},
		} {
			t.Run(typ+", "+test.name, func(t *testing.T) {
				service := &snapshots{t: t, typ: typ, list: test.there, done: test.after, refuse: test.refuse}
				server := httptest.NewServer(service)
				defer server.Close()
				ended := make(chan struct{})
				close(ended)
				err := TakeSnapshot(t.Context(), &provider.Request{
					Session: &provider.Session{Config: aws.Config{
						Region: stack.Region, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), BaseEndpoint: &server.URL,
						Retryer: func() aws.Retryer { return aws.NopRetryer{} },
					}},
					LogicalID: "Res", Type: typ, PhysicalID: "res", FinalSnapshot: "res-final-20260801-120509", Draining: ended,
				})
				if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				if strings.HasSuffix(test.name, "the run ends") && !errors.Is(err, provider.ErrDraining) {
					t.Errorf("got %v", err)
				}
				if diff := cmp.Diff(test.want, service.asked); diff != "" {
					t.Errorf("asked for (-want +got):\n%s", diff)
				}
			})
		}
	}
}
