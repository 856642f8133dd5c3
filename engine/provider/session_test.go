package provider

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestOnceClientSendsOnce(t *testing.T) { // (T-805, T-925)
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	s := &Session{Config: aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}}
	s.Config.Retryer = func() aws.Retryer { return retry.NewStandard() } // three times in all
	once := OnceClient(s, sqs.NewFromConfig)
	if once != OnceClient(s, sqs.NewFromConfig) || once == Client(s, sqs.NewFromConfig) {
		t.Error("each kind of client is made once, and is not the other")
	}
	_, err := once.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	if !Ambiguous(err) || calls.Load() != 1 {
		t.Errorf("want one call and an ambiguous failure, got %d, %v", calls.Load(), err)
	}
}
