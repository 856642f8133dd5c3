package engine_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/cdkd-action/engine/result"
)

// A resource that was let go while it settled, and has failed since, is a create
// that failed: it is deleted and made again, unless its policy keeps it (P-19,
// T-840).
func TestFailedWhileNobodyWaited(t *testing.T) {
	for policy, again := range map[string]bool{"": true, "Retain": false} {
		t.Run("policy "+policy, func(t *testing.T) {
			stream := `"Stream": {"Type": "AWS::KinesisFirehose::DeliveryStream", "DeletionPolicy": "` + policy + `", "Properties": {"S3DestinationConfiguration": {
				"BucketARN": "arn:aws:s3:::somewhere", "RoleARN": "arn:aws:iam::123456789012:role/delivery"}}}`
			s := startSlow(t, `{"Resources": {`+strings.Replace(stream, `"DeletionPolicy": "", `, "", 1)+`}}`)
			var status atomic.Value
			status.Store("CREATING")
			s.instead = func(r *http.Request) *http.Response {
				_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
				if action == "DeleteDeliveryStream" {
					status.Store("ACTIVE") // of the next
				}
				if action != "DescribeDeliveryStream" {
					return nil
				}
				out, err := http.DefaultClient.Do(r)
				if err != nil {
					return nil
				}
				body, err := io.ReadAll(out.Body)
				out.Body.Close()
				if err != nil {
					return nil
				}
				body = bytes.ReplaceAll(body, []byte(`"ACTIVE"`), []byte(`"`+status.Load().(string)+`"`))
				out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				out.Header.Del("Content-Length")
				return out
			}
			s.want(s.cancelled("DescribeDeliveryStream"), result.Cancelled)
			if body := s.object(slowPending); !strings.Contains(body, `"stage": "settling"`) {
				t.Fatalf("written down:\n%s", body)
			}
			status.Store("CREATING_FAILED")
			st := s.run().deploy()
			created, deleted := s.count("CreateDeliveryStream"), s.count("DeleteDeliveryStream")
			if !again {
				s.want(st, result.Failed)
				if created != 1 || deleted != 0 || len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Remedy, "mend it or delete it by hand") {
					t.Errorf("created %d times and deleted %d times: %+v", created, deleted, st.Failures)
				}
				return
			}
			s.want(st, result.Success)
			if created != 2 || deleted != 1 || !strings.Contains(s.log.String(), "it has failed since") {
				t.Errorf("created %d times and deleted %d times\n%s", created, deleted, s.log.String())
			}
			s.wantSettled()
			s.want(s.run().deploy(), result.NoChange)
		})
	}
}
