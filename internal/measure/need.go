package main

import (
	"slices"
	"time"
)

// A need is a chain of calls that a result cannot do without: each takes
// something from the answer of the one before it. These come from the
// services' API references, not from what we send; whoever changes one says
// why the service asks for it.
type need struct {
	what  string
	calls []string
}

// Of the types, as the wide stack uses them.
var typeNeeds = []need{
	// Each setting is a call on the bucket that exists. None waits for another.
	{"AWS::S3::Bucket", []string{"CreateBucket", "PutBucketLifecycleConfiguration"}},
	// Time to live is refused until the table is ACTIVE.
	{"AWS::DynamoDB::Table", []string{"CreateTable", "DescribeTable", "UpdateTimeToLive"}},
	// Attributes and tags are part of the call; the ARN is made of the name.
	{"AWS::SQS::Queue", []string{"CreateQueue"}},
	{"AWS::SNS::Topic", []string{"CreateTopic"}},
	{"AWS::SSM::Parameter", []string{"PutParameter"}},
	// Tags are part of the call, how long to keep events is not.
	{"AWS::Logs::LogGroup", []string{"CreateLogGroup", "PutRetentionPolicy"}},
}

// Of the state bucket, before the first resource and after the last: what keeps
// two runs apart, and a killed one from losing what it made.
var (
	openingNeeds = need{"the stack being this run's to change", []string{
		"GetCallerIdentity",            // whose bucket it must be; beside it GetBucketLocation
		"PutObject lock.json",          // beside it, the record is read
		"GetObject state.json",         // which may have been saved until the lock was had; beside it, who has which name
		"PutObject create-tokens.json", // so that a run after one that was killed finds what that made
	}}
	closingNeeds = need{"what was done being known", []string{
		"PutObject state.json",   // with the last resource in it; beside it, the end of the ledger
		"DeleteObject lock.json", // beside it, the history; the exports come before it, if there are any
	}}
)

// firstDeploy is the longest chain of a first deploy of the wide stack.
func firstDeploy() []need {
	longest := slices.MaxFunc(typeNeeds, func(a, b need) int { return len(a.calls) - len(b.calls) })
	return []need{openingNeeds, longest, closingNeeds}
}

// least is how long needs take that wait for each other.
func least(needs []need, latency time.Duration) (d time.Duration) {
	for _, n := range needs {
		d += time.Duration(len(n.calls)) * latency
	}
	return d
}
