package engine

import (
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
)

// What limits how much of a stack is worked on at once are the services that
// are called, each by itself: a stack of many services is not held up by one
// of them, and none is asked for more than it takes from one account.
const (
	eachService = 10
	allServices = 64
)

// share is how many resources a run works on at once, those of all its stacks and of
// the nested ones together: as many as was asked for, or else what the services take.
func share(concurrency int) *graph.Share {
	if concurrency > 0 {
		return graph.NewShare(concurrency, 0)
	}
	return graph.NewShare(allServices, eachService)
}

// pace is how the resources of the stack are worked on, beside those of others.
func (d *deployment) pace(stop <-chan struct{}) graph.Options {
	s := d.opt.share
	if s == nil {
		s = share(d.opt.Concurrency)
	}
	return graph.Options{Share: s, Stop: stop}
}

// service is the part of a resource type that names its service, such as
// AWS::SQS. That of a custom resource is Custom; a nested stack has none, as it waits
// for its own resources.
func service(typ string) string {
	if typ == nestedType {
		return ""
	}
	if i := strings.LastIndex(typ, "::"); i >= 0 {
		return typ[:i]
	}
	return typ
}

// cost is how long an operation is expected to take, as far as that differs
// enough to decide who goes first.
func cost(c *plan.Change) time.Duration {
	if d, ok := slowTypes[c.Type]; ok {
		return d
	}
	if c.Route.ProvisionedBy == state.ByCloudControl {
		return 5 * time.Second
	}
	return time.Second
}

var slowTypes = map[string]time.Duration{
	"AWS::CloudFormation::Stack":                20 * time.Second,
	"AWS::CloudFront::Distribution":             4 * time.Minute,
	"AWS::DynamoDB::Table":                      10 * time.Second,
	"AWS::EC2::Instance":                        30 * time.Second,
	"AWS::EC2::NatGateway":                      2 * time.Minute,
	"AWS::EKS::Cluster":                         10 * time.Minute,
	"AWS::ElastiCache::ReplicationGroup":        10 * time.Minute,
	"AWS::ElasticLoadBalancingV2::LoadBalancer": 2 * time.Minute,
	"AWS::IAM::Role":                            10 * time.Second, // until other services see it
	"AWS::OpenSearchService::Domain":            15 * time.Minute,
	"AWS::RDS::DBCluster":                       8 * time.Minute,
	"AWS::RDS::DBInstance":                      10 * time.Minute,
	"AWS::Redshift::Cluster":                    10 * time.Minute,
}
