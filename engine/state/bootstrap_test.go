package state

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
)

func TestBootstrapMakes(t *testing.T) { // (S-18, S-319)
	for region, partition := range map[string]string{"us-east-1": "aws", "eu-west-1": "aws", "cn-north-1": "aws-cn"} {
		t.Run(region, func(t *testing.T) {
			c := &cloud{Server: newEmptyS3(t)}
			cfg := c.overHTTP(t)
			cfg.Region = region
			b, err := Bootstrap(t.Context(), cfg, BootstrapOptions{AccountID: account})
			if err != nil {
				t.Fatal(err)
			}
			if want := (Bootstrapped{Bucket: bucket, Region: region, Created: true, Configured: true}); b != want {
				t.Errorf("got %+v, want %+v", b, want)
			}
			client := newClient(cfg, region, account)
			v, err := client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &b.Bucket})
			if err != nil || v.Status != types.BucketVersioningStatusEnabled {
				t.Errorf("versioning %+v, %v", v, err)
			}
			e, err := client.GetBucketEncryption(t.Context(), &s3.GetBucketEncryptionInput{Bucket: &b.Bucket})
			if err != nil {
				t.Fatal(err)
			}
			rule := e.ServerSideEncryptionConfiguration.Rules[0]
			if rule.ApplyServerSideEncryptionByDefault.SSEAlgorithm != types.ServerSideEncryptionAes256 || !*rule.BucketKeyEnabled {
				t.Errorf("encryption %+v", rule)
			}
			p, err := client.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: &b.Bucket})
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			json.Unmarshal([]byte(*p.Policy), &got)
			json.Unmarshal([]byte(`{"Version":"2012-10-17","Statement":[{"Sid":"DenyExternalAccess","Effect":"Deny","Principal":"*","Action":"s3:*",
"Resource":["arn:`+partition+`:s3:::`+bucket+`","arn:`+partition+`:s3:::`+bucket+`/*"],"Condition":{"StringNotEquals":{"aws:PrincipalAccount":"123456789012"}}}]}`), &want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
			if _, err := open(t, cfg, func(o *Options) { o.Region = "" }).Stack("Shop", region).Presence(t.Context()); err != nil {
				t.Errorf("the bucket cannot be used: %v", err)
			}
		})
	}
}

func TestBootstrapOfABucketThatIsThere(t *testing.T) {
	setup := func(t *testing.T, owner string) (*cloud, func(force bool) (Bootstrapped, error)) {
		c := &cloud{Server: newEmptyS3(t)}
		c.AddBucket(bucket, "eu-west-1", owner)
		cfg := c.overHTTP(t)
		return c, func(force bool) (Bootstrapped, error) { // from another region
			return Bootstrap(t.Context(), cfg, BootstrapOptions{AccountID: account, Force: force})
		}
	}
	settings := func(c *cloud) (n int) {
		for _, r := range c.requests() {
			if strings.HasPrefix(r, "Put") || strings.HasPrefix(r, "Create") {
				n++
			}
		}
		return n
	}
	t.Run("is left as it is, and found where it is (S-319)", func(t *testing.T) {
		c, bootstrap := setup(t, "")
		b, err := bootstrap(false)
		if err != nil || b.Created || b.Configured || b.Region != "eu-west-1" || !strings.Contains(b.Notice, "does not keep versions") {
			t.Errorf("got %+v, %v", b, err)
		}
		if n := settings(c); n != 0 {
			t.Errorf("%d settings were put", n)
		}
	})
	t.Run("gets the settings when forced (S-319)", func(t *testing.T) {
		c, bootstrap := setup(t, "")
		b, err := bootstrap(true)
		if err != nil || b.Created || !b.Configured {
			t.Errorf("got %+v, %v", b, err)
		}
		if n := settings(c); n != 3 {
			t.Errorf("%d settings were put", n)
		}
		if b, err = bootstrap(false); err != nil || b.Notice != "" {
			t.Errorf("then %+v, %v", b, err)
		}
	})
	t.Run("another account's is refused (S-319)", func(t *testing.T) {
		c, bootstrap := setup(t, "999999999999")
		_, err := bootstrap(true)
		if e := as[*ForeignBucketError](t, err); e.Bucket != bucket || !strings.Contains(e.Remedy(), "state-bucket") {
			t.Errorf("got %+v", e)
		}
		if n := settings(c); n != 0 {
			t.Errorf("%d settings were put", n)
		}
	})
	t.Run("another account's that does not show is refused (S-319)", func(t *testing.T) {
		c, bootstrap := setup(t, "999999999999")
		c.on("HeadBucket", "", 0, 0, answer(http.StatusNotFound, ""))
		_, err := bootstrap(false)
		as[*ForeignBucketError](t, err)
	})
	t.Run("whose versioning may not be looked at", func(t *testing.T) {
		c, bootstrap := setup(t, "")
		c.on("GetBucketVersioning", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		if b, err := bootstrap(false); err != nil || !strings.Contains(b.Notice, "s3:GetBucketVersioning") {
			t.Errorf("got %+v, %v", b, err)
		}
	})
	t.Run("a setting that fails is an error (S-18)", func(t *testing.T) {
		for op, text := range map[string]string{
			"PutBucketVersioning": "versioning", "PutBucketEncryption": "encryption", "PutBucketPolicy": "other accounts",
		} {
			c, bootstrap := setup(t, "")
			c.on(op, "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
			if b, err := bootstrap(true); err == nil || b.Configured || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), bucket) {
				t.Errorf("%s: %+v, %v", op, b, err)
			}
		}
	})
	t.Run("without an account nobody can say whose it is", func(t *testing.T) {
		c, _ := setup(t, "")
		if _, err := Bootstrap(t.Context(), c.overHTTP(t), BootstrapOptions{Bucket: bucket}); err == nil {
			t.Error("it was made")
		}
		c.wantRequests(t)
	})
}

// A bootstrap that fails half-way says how to complete it, and the next one what
// is missing, until it is forced (S-18, S-319).
func TestBootstrapCompletesWhatFailedHalfWay(t *testing.T) {
	for op, missing := range map[string]string{"PutBucketVersioning": "does not keep versions", "PutBucketPolicy": "no policy that denies other accounts"} {
		t.Run(op, func(t *testing.T) {
			c := &cloud{Server: newEmptyS3(t)}
			cfg := c.overHTTP(t)
			bootstrap := func(force bool) (Bootstrapped, error) {
				return Bootstrap(t.Context(), cfg, BootstrapOptions{AccountID: account, Force: force})
			}
			c.on(op, "", 0, 1, answer(http.StatusForbidden, "AccessDenied"))
			_, err := bootstrap(false)
			half, ok := errors.AsType[*UnconfiguredError](err)
			if !ok || !strings.Contains(half.Remedy(), "force") {
				t.Fatalf("failed with %v", err)
			}
			if b, err := bootstrap(false); err != nil || b.Configured || !strings.Contains(b.Notice, missing) {
				t.Errorf("then %+v, %v", b, err)
			}
			if b, err := bootstrap(true); err != nil || !b.Configured {
				t.Errorf("forced: %+v, %v", b, err)
			}
			if b, err := bootstrap(false); err != nil || b.Notice != "" {
				t.Errorf("at last %+v, %v", b, err)
			}
		})
	}
}
