package state

import "strings"

// Types whose physical id is not simply their name.
const (
	typeQueue        = "AWS::SQS::Queue"
	typeTopic        = "AWS::SNS::Topic"
	typeStateMachine = "AWS::StepFunctions::StateMachine"
	typeCluster      = "AWS::ECS::Cluster"
	typeRule         = "AWS::Events::Rule"
	typeLoadBalancer = "AWS::ElasticLoadBalancingV2::LoadBalancer"
	typeTargetGroup  = "AWS::ElasticLoadBalancingV2::TargetGroup"
)

// SameResource tells whether two physical ids of a type name one resource.
func SameResource(typ, a, b string) bool {
	if a == "" || a == b {
		return a != "" // nothing names nothing
	}
	switch typ {
	case typeQueue: // one queue has URLs of several hosts
		return queuePath(a) != "" && queuePath(a) == queuePath(b)
	case typeLoadBalancer, typeTargetGroup:
		if isARN(a) && isARN(b) {
			return false
		}
		return NameIn(typ, a) == NameIn(typ, b)
	}
	return false
}

// queuePath is the account and name in a queue's URL.
func queuePath(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	_, path, found := strings.Cut(rest, "/")
	if !ok || !found || strings.Count(path, "/") != 1 {
		return ""
	}
	return path
}

func isARN(id string) bool { return strings.HasPrefix(id, "arn:") }

// NameIn is the name that a physical id holds.
func NameIn(typ, id string) string {
	after := func(sep string) string { return id[strings.LastIndex(id, sep)+1:] }
	switch typ {
	case typeQueue:
		return after("/")
	case typeTopic, typeStateMachine:
		return after(":")
	case typeCluster:
		if isARN(id) {
			return after("/")
		}
	case typeRule:
		if isARN(id) {
			return after("/")
		}
		return after("|")
	case typeLoadBalancer, typeTargetGroup:
		// …:loadbalancer/app/NAME/id, …:targetgroup/NAME/id
		if parts := strings.Split(id, "/"); isARN(id) && len(parts) >= 3 {
			return parts[len(parts)-2]
		}
	}
	return id
}
