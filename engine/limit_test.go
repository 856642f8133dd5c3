package engine

import (
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	d := &deployment{opt: DeployOptions{ResourceTimeout: 30 * time.Minute, TypeTimeouts: map[string]time.Duration{"AWS::RDS::DBCluster": 5 * time.Minute, "AWS::SQS::Queue": 2 * time.Hour}}}
	for typ, want := range map[string]time.Duration{
		"AWS::SNS::Topic":                     30 * time.Minute,
		"AWS::SQS::Queue":                     2 * time.Hour,   // longer than asked for all (T-340)
		"AWS::RDS::DBCluster":                 5 * time.Minute, // exact, even if shorter (T-340)
		"AWS::RDS::DBInstance":                time.Hour,       // known to be slow (T-340, T-1026)
		"AWS::ElastiCache::CacheCluster":      time.Hour,
		"AWS::Elasticsearch::Domain":          time.Hour,
		"Custom::Thing":                       time.Hour,
		"AWS::CloudFormation::CustomResource": time.Hour,
	} {
		if got := d.limit(typ); got != want {
			t.Errorf("%s may take %s, want %s", typ, got, want)
		}
	}
	d.opt.ResourceTimeout = 3 * time.Hour
	if got := d.limit("AWS::RDS::DBInstance"); got != 3*time.Hour {
		t.Errorf("what is known to be slow may take %s, want the three hours that all may", got)
	}
}
