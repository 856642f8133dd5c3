package state

import (
	"errors"
	"testing"
)

func TestAssetStorageMarker(t *testing.T) {
	const region = "eu-west-1"
	for _, c := range []struct {
		rule, body string
		newer, bad bool
	}{
		{rule: "is read (T-130)", body: `{"assetBucket": "b", "containerRepo": "r", "assetSupportVersion": 1}`},
		{rule: "of a newer release is refused (T-133)", body: `{"assetBucket": "b", "containerRepo": "r", "assetSupportVersion": 2}`, newer: true},
		{rule: "without a name is refused (T-133)", body: `{"assetBucket": "b", "assetSupportVersion": 1}`, bad: true},
		{rule: "without a version is refused (T-133)", body: `{"assetBucket": "b", "containerRepo": "r"}`, bad: true},
		{rule: "that is not JSON is refused (T-133)", body: `{`, bad: true},
	} {
		s3 := newCloud(t)
		s3.PutObject(bucket, "cdkd-bootstrap/"+region+".json", []byte(c.body))
		a, err := open(t, s3.overHTTP(t)).AssetStorage(t.Context(), "EU-West-1")
		if newer := errors.As(err, new(*VersionError)); newer != c.newer {
			t.Errorf("%s: %v", c.rule, err)
		}
		if bad := errors.As(err, new(*MalformedError)); bad != c.bad {
			t.Errorf("%s: %v", c.rule, err)
		}
		if !c.newer && !c.bad && (a == nil || *a != AssetStorage{region, "b", "r"}) {
			t.Errorf("%s: got %+v, %v", c.rule, a, err)
		}
	}
}
