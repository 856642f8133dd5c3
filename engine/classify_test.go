package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

// A refusal, or what CloudFormation did not do, is not a fault of the program.
func TestClassify(t *testing.T) {
	tests := map[string]struct {
		err     error
		outcome result.Outcome
		reason  result.Reason
	}{
		"a fault":                    {errors.New("x"), result.Failed, result.ReasonInternal},
		"locks in the way of gc":     {&LockedError{Keys: []string{"k"}}, result.Locked, result.ReasonLock},
		"what cannot be exported":    {&ExportRefusedError{}, result.Failed, result.ReasonInput},
		"asset storage":              {&StorageError{}, result.Failed, result.ReasonInput},
		"bootstrap in use":           {&UsedError{}, result.Failed, result.ReasonInput},
		"references":                 {&ReferencesError{}, result.Failed, result.ReasonInput},
		"CloudFormation's failure":   {&ExportError{Err: errors.New("x")}, result.Failed, result.ReasonResource},
		"of a stack taken over":      {&RetireError{Err: errors.New("x")}, result.Failed, result.ReasonResource},
		"a lock met in an export":    {&ExportError{Err: &state.HeldError{}}, result.Locked, result.ReasonLock},
		"a signal during an export":  {&ExportError{Err: context.Canceled}, result.Cancelled, ""},
		"an input error in a detail": {fmt.Errorf("x: %w", &InputError{}), result.Failed, result.ReasonInput},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if outcome, reason := Classify(tt.err); outcome != tt.outcome || reason != tt.reason {
				t.Errorf("%s, %s; want %s, %s", outcome, reason, tt.outcome, tt.reason)
			}
		})
	}
}

// Whether there are no credentials or no network is another thing to do about.
func TestRemedyOfCredentials(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	given := credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "secret", "")
	none := aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		_, err := imds.New(imds.Options{Endpoint: gone.URL, Retryer: aws.NopRetryer{}}).GetMetadata(ctx, &imds.GetMetadataInput{Path: "iam"})
		return aws.Credentials{}, err
	})
	answers := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, tt := range []struct {
		endpoint string
		provider aws.CredentialsProvider
		want     string
	}{
		{gone.URL, given, "AWS could not be reached"},
		{gone.URL, none, "give the step credentials"},
		{answers(http.StatusServiceUnavailable), given, "AWS has a fault of its own"},
		{answers(http.StatusForbidden), given, "give the step credentials"},
	} {
		e := New(Config{AWS: aws.Config{Region: "us-east-1", BaseEndpoint: &tt.endpoint, Credentials: tt.provider, Retryer: func() aws.Retryer { return aws.NopRetryer{} }}})
		_, err := e.Account(t.Context())
		if remedy := Remedy(err); !strings.HasPrefix(remedy, tt.want) {
			t.Errorf("%v: %s; want %s", err, remedy, tt.want)
		}
	}
}
