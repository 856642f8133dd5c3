package main

// A budget is what a run may send that its result needs, by needed. Those
// without a limit of their own are what was reached: who has a reason to spend
// more changes them here.
type budget struct{ requests, chain int }

// The longest sequence is told by the times of the requests, so that a busy
// machine can make one out of what was sent side by side: the shapes have two
// more than they take, and none where the emulator is too slow to tell.
var budgets = map[string]budget{
	first.name: {requests: 135, chain: 11}, // 9, and up to 11 when saves are under way as the last resource is done
	same.name:  {requests: 10, chain: 3},
	eight.name: {requests: 24, chain: 7}, // two for earlier versions of the lock, beside others
	one.name:   {requests: 17, chain: 7},
	gone.name:  {requests: 80, chain: 11}, // two for earlier versions of the lock and one for the ledger, beside others

	cancel.name: {requests: 11, chain: 6}, // the journal twice, when it was written before all was known

	"serverless, first deploy": {requests: 50, chain: 15},
	"serverless, no change":    {requests: 9, chain: 5},
	"serverless, destroy":      {requests: 54, chain: 19},
	"webapp, first deploy":     {requests: 76, chain: 40},
	"ecs, first deploy":        {requests: 66, chain: 40},
	"ec2, first deploy":        {requests: 62, chain: 40},
	"cloudfront, first deploy": {requests: 25, chain: 12},
	"cloudfront, destroy":      {requests: 33, chain: 19},
	"nested, no change":        {requests: 62, chain: 6}, // each nested stack's record is read, side by side

	"5,000 resources, plan":                      {requests: 7, chain: 5}, // the other records of the bucket, for who has a declared name, beside the planning
	"5,000 resources, plan of a change of 1,000": {requests: 4, chain: 3},
	"504 resources, no change":                   {requests: 10, chain: 4},
}
