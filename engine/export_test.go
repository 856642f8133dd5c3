package engine

// For the test that every type is on one of them.
var (
	Resendable = resendable
	Unfindable = unfindable
)
