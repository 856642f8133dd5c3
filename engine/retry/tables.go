package retry

import "regexp"

// throttleCodes are error codes that ask for patience.
var throttleCodes = []string{
	"BandwidthLimitExceeded",
	"EC2ThrottledException",
	"LimitExceededException",
	"PriorRequestNotComplete",
	"ProvisionedThroughputExceededException",
	"RequestLimitExceeded",
	"RequestThrottled",
	"RequestThrottledException",
	"SlowDown",
	"ThrottledException",
	"Throttling",
	"ThrottlingException",
	"TooManyRequestsException",
	"TransactionInProgressException",
}

// limitThatPasses tells a LimitExceededException that is a rate from one that
// is a quota: for many services it is a quota.
var limitThatPasses = regexp.MustCompile(`(?i)rate|thrott|too many|concurrent|simultaneous`)

var serverStatuses = []int{500, 502, 503, 504}

// transientPatterns are texts of states that pass by themselves.
var transientPatterns = []string{
	"currently in the following state: Pending",
	"has dependencies and cannot be deleted",
	"can't be deleted since it has",
	"DependencyViolation",
	"ConcurrentOperationException",
	"Schema is currently being altered",
	"scheduled for deletion",
	"Could not deliver test message",
	"concurrent update operation",
	"because it is in use",
	"is currently in use by a listener or a rule",
	"Rate exceeded",
	"is marked disabled for mutation",
	"There is an operation running on the Cluster",
	"Unable to complete operation due to concurrent modification",
}

// propagationPatterns are texts with which services refuse a role, policy or
// principal that IAM has not spread yet. Some of them also say that it never
// will do; then the budget is spent and the error stands.
var propagationPatterns = []string{
	"cannot be assumed",
	"Firehose is unable to assume role",
	"is unable to assume provided role",
	"is unable to assume the role",
	"security token included in the request is invalid. (Service:",
	"role defined for the function",
	"not authorized to perform",
	"execution role",
	"trust policy",
	"Role validation failed",
	"does not have required permissions",
	"Trusted Entity",
	"Invalid principal in policy",
	"Verify in IAM that the role has adequate trust relationships",
	"The user with name",
	"Policy Error: PrincipalNotFound",
	"Invalid value for the parameter Policy",
	"required permissions for: ENHANCED_MONITORING",
	"Caught ServiceAccessDeniedException",
	"permissions required to assume the role",
	"authorized to assume the provided role",
	"Cannot access stream",
	"Please ensure the role can perform",
	"KMS key is invalid for CreateGrant",
	"Policy contains a statement with one or more invalid principals",
	"Invalid IAM Instance Profile",
	"Invalid InstanceProfile",
	"Failed to authorize instance profile",
	"is not a valid role to allow SNS",
	"not authorized to access the Log Destination",
	"does not have a trust relationship allowing",
	"Unable to assume given IAM role",
	"Unable to assume the service linked role",
}

// cooldownPatterns are codes and texts of a name that was freed moments ago.
var cooldownPatterns = []string{
	"QueueDeletedRecently",
	"wait 60 seconds",
	"StateMachineDeleting",
	"conflicting conditional operation",
}

// handlerCodes are Cloud Control's HandlerErrorCodes that decide by themselves;
// the others leave it to their message.
var handlerCodes = map[string]Class{
	"Throttling":           Throttle,
	"ServiceInternalError": Transient,
	"NetworkFailure":       Transient,
	"ServiceTimeout":       Transient,
	"NotStabilized":        Transient,
	"ResourceConflict":     Transient,
	"AlreadyExists":        Collision,
	"NotUpdatable":         Final,
	"ServiceLimitExceeded": Final,
}

// alreadyExists finds the word before "already exists", which may turn its
// meaning round.
var alreadyExists = regexp.MustCompile(`(?i)(?:(\w+)\s+)?already exists?\b`)

var notACollision = []string{"must", "not", "should", "may", "cannot"}
