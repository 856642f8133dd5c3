package engine

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/macro"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/template"
)

// A kind of failure has a page that explains it, and a word that says why a run
// failed. An error is of the first kind that it or anything it wraps is of; a kind
// without a word, or a page, leaves that to those after it.
type kind struct {
	page   guide.Page
	reason result.Reason
	is     func(error) bool
}

// What matters most to whoever has to act comes first, what AWS or the network
// said last: an error that wraps their answer says more.
var kinds = []kind{
	{guide.Internal, "", is[*routine.PanicError]},
	{guide.RecordNotSaved, "", is[*RecordError]},

	{guide.LockHeld, result.ReasonLock, is[*state.HeldError]},
	{guide.LocksInTheWay, result.ReasonLock, is[*state.BucketLockedError]},
	{guide.LocksInTheWay, result.ReasonLock, is[*LockedError]},
	{guide.ApprovalRequired, result.ReasonApproval, is[*ApprovalError]},
	{guide.PlanChanged, result.ReasonPlanChanged, is[*PlanChangedError]},
	{guide.LockLost, result.ReasonStateConflict, func(err error) bool { return errors.Is(err, errLost) || errors.Is(err, state.ErrLost) }},
	{guide.StateConflict, result.ReasonStateConflict, is[*state.ConflictError]},
	{guide.BucketsDiffer, result.ReasonStateConflict, is[*state.DifferingError]},
	{guide.Credentials, result.ReasonCredentials, credentialsRefused},
	{guide.Network, "", func(err error) bool { return is[*CredentialsError](err) && unreachable(err) }},
	{guide.Credentials, result.ReasonCredentials, is[*CredentialsError]},
	{guide.RecordNotSaved, result.ReasonStateConflict, is[*RecordError]},
	{guide.RegisteredElsewhere, result.ReasonRegistry, is[*state.RegisteredError]},
	{guide.StateBucketFailed, result.ReasonRegistry, is[*state.UnansweredError]},
	{guide.CloudFormationStack, result.ReasonRegistry, is[*FormedError]},
	{guide.NameHeld, result.ReasonNameHeld, is[*state.NameHeldError]},
	{guide.AssetBucket, result.ReasonResource, is[*asset.BucketError]},
	{"", result.ReasonResource, is[*ResourcesError]},
	{guide.OutputsIncomplete, result.ReasonOutput, is[*OutputsError]},

	{guide.RecordNewer, result.ReasonStateConflict, is[*state.VersionError]},
	{guide.RecordMalformed, result.ReasonStateConflict, is[*state.MalformedError]},
	{guide.HandoverUnfinished, result.ReasonStateConflict, is[*HandoverError]},
	{guide.OperationUnresolved, result.ReasonStateConflict, is[*UnresolvedError]},
	{guide.OperationOpen, result.ReasonStateConflict, func(err error) bool { return errors.Is(err, errOpen) }},
	{guide.TerminationProtection, result.ReasonInput, is[*ProtectedError]},
	{guide.ExportInUse, "", is[*InUseError]},
	{guide.NameTaken, "", is[*NameTakenError]},
	{guide.NameTaken, "", is[*ElsewhereError]},
	{guide.ResourceGone, "", is[*GoneError]},
	{guide.FailedEarlier, "", is[*RemakeError]},
	{guide.FinalSnapshot, "", is[*SnapshotError]},
	{guide.NoEchoNotGiven, result.ReasonInput, is[*NotGivenError]},
	{guide.NoEchoNotComparable, "", is[*IncomparableError]},
	{guide.ReplacementRefused, "", is[*ReplacementError]},
	{guide.UpdateNotSupported, "", is[*provider.UnsupportedUpdateError]},
	{guide.MaskedValue, "", is[*MaskedError]},
	{guide.Reference, result.ReasonTemplate, is[*reference.Error]},
	{guide.CustomResourceTimeout, "", is[*customresource.TimeoutError]},
	{guide.CustomResource, "", is[*customresource.FailedError]},
	{guide.CustomResource, "", is[*customresource.FunctionError]},
	{guide.NotStable, "", is[*provider.SettleError]},
	{guide.NotStable, "", is[*cloudcontrol.TimeoutError]},
	{guide.NotStable, "", is[*cloudcontrol.CancelledError]},
	{guide.NotStable, "", is[*TimeoutError]},
	{guide.AlreadyExists, "", is[*ExistsError]},
	{guide.WrongRegion, "", is[*provider.RegionError]},

	{guide.UnsupportedType, result.ReasonTemplate, is[*provider.Unroutable]},
	{guide.UnsupportedType, "", is[*cloudcontrol.UnsupportedTypeError]},
	{guide.UnknownProperty, result.ReasonTemplate, is[*provider.UnknownPropertyError]},
	{guide.PropertyValue, result.ReasonTemplate, is[*provider.ExclusiveError]},
	{guide.PropertyValue, result.ReasonTemplate, is[*provider.BindError]},
	{guide.PropertyValue, result.ReasonTemplate, is[*provider.MistypedError]},
	{"", result.ReasonTemplate, is[*provider.PreflightError]},
	{guide.Macro, result.ReasonTemplate, is[*template.MacroError]},
	{guide.Macro, result.ReasonTemplate, is[*macro.Error]},
	{guide.CircularDependency, result.ReasonTemplate, is[*graph.CycleError]},
	{guide.CircularDependency, "", is[*assembly.CycleError]},
	{guide.ImportMissing, result.ReasonTemplate, is[*ImportError]},
	{guide.ImportWithdrawn, result.ReasonStateConflict, is[*WithdrawnError]},
	{guide.Template, result.ReasonTemplate, is[*template.Error]},
	{guide.Template, result.ReasonTemplate, is[*template.Faults]},
	{guide.Template, result.ReasonTemplate, is[*template.AssertionError]},
	{guide.Template, result.ReasonTemplate, is[*template.HookError]},
	{guide.AssetSource, result.ReasonTemplate, is[*asset.SourcesError]},
	{guide.ExportInUse, result.ReasonTemplate, is[*ExportInUseError]},
	{guide.ExportTaken, result.ReasonTemplate, is[*ExportTakenError]},
	{guide.AssemblyUnreadable, "", is[*assembly.VersionError]},
	{guide.NoAssembly, "", is[*synth.NoAssemblyError]},
	{guide.AssemblyUnreadable, result.ReasonTemplate, is[*assembly.Faults]},
	{guide.MissingContext, result.ReasonTemplate, is[*assembly.MissingError]},
	{guide.Template, "", is[*NoAttributeError]},

	{guide.InUse, "", is[*state.UnseenError]}, // whatever kept a bucket that need not be the state's from being looked into
	{guide.StateBucketForeign, result.ReasonInput, is[*state.ForeignBucketError]},
	{guide.StateBucketSettings, result.ReasonInput, is[*state.UnconfiguredError]},
	{guide.NoStateBucket, result.ReasonInput, is[*state.NoBucketError]},
	{guide.StateBucketDenied, result.ReasonInput, is[*state.RegionError]},
	{guide.StateBucketDenied, result.ReasonInput, is[*state.AccessError]},
	{guide.StateBucketFailed, "", is[*state.RequestError]},
	{guide.SecretInName, result.ReasonInput, is[*SecretNameError]},
	{guide.Inputs, result.ReasonInput, is[*InputError]},
	{guide.ImportRefused, result.ReasonInput, is[*ImportRefusedError]},
	{guide.ExportRefused, result.ReasonInput, is[*ExportRefusedError]},
	{guide.ReferencesUnread, result.ReasonInput, is[*ReferencesError]},
	{guide.InUse, result.ReasonInput, is[*UsedError]},
	{guide.AssetStorage, result.ReasonInput, is[*StorageError]},
	{guide.AssetStorage, "", is[*asset.MissedError]},
	{guide.ImageBuild, "", is[*asset.ContainerError]},
	{guide.NoContainerBuilder, "", is[*asset.BuilderError]},

	{guide.AppFailed, result.ReasonSynth, is[*synth.AppError]},
	{guide.AppTimeout, result.ReasonSynth, is[*synth.TimeoutError]},
	{guide.NoAssembly, result.ReasonSynth, is[*synth.NoAssemblyError]},
	{guide.LookupFailed, result.ReasonSynth, is[*synth.LookupError]},
	{guide.NoProgram, result.ReasonSynth, is[*synth.NoProgramError]},
	{guide.AppErrors, result.ReasonSynth, is[*SynthError]},
	{guide.NoApp, result.ReasonInput, is[*synth.NoAppError]},
	{guide.Inputs, result.ReasonInput, is[*synth.ContextEntryError]},
	{guide.StackSelection, result.ReasonInput, is[*assembly.SelectionError]},

	{guide.PermissionsUnchecked, result.ReasonCredentials, is[*SimulationError]},
	{guide.CloudFormationRefused, "", is[*cloudformation.NotRetirableError]},
	{guide.CloudFormationFailed, "", is[*cloudformation.Failed]},
	{guide.CloudFormationFailed, result.ReasonResource, is[*ExportError]},
	{guide.CloudFormationFailed, result.ReasonResource, is[*RetireError]},

	{guide.AccessDenied, result.ReasonCredentials, provider.AccessDenied},
	{guide.NotStable, "", code("NotStabilized")},
	{guide.Throttled, "", func(err error) bool { return retry.Classifier{}.Of(err) == retry.Throttle }},
	{guide.Quota, "", code("LimitExceeded", "QuotaExceeded", "TooManyBuckets")},
	{guide.AlreadyExists, "", retry.NameTaken},
	{guide.AWSRefused, "", is[smithy.APIError]},
	{guide.Network, "", unreachable},
}

// Page is the page about an error, "" when there is none.
func Page(err error) guide.Page {
	if stopped(err) {
		return guide.Interrupted
	}
	for _, k := range kinds {
		if k.page == "" || !k.is(err) {
			continue
		}
		if in, ok := errors.AsType[*InputError](err); ok && k.page == guide.Inputs && in.Page != "" {
			return in.Page
		}
		return k.page
	}
	return ""
}

// page is where the page about an error is, "" when there is none.
func (e *Engine) page(err error) string { return Page(err).URL(e.config.Version) }

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// pageOfEnd is the page about how a stack ended, unless it has one about why.
func (e *Engine) pageOfEnd(s *result.Stack) {
	var page guide.Page
	switch {
	case s.RollbackIncomplete:
		page = guide.RollbackIncomplete
	case s.Outcome == result.Partial:
		page = guide.LeftOver
	}
	s.Page = cmp.Or(s.Page, page.URL(e.config.Version))
}

// code tells whether AWS answered with a code that has one of these in it.
func code(parts ...string) func(error) bool {
	return func(err error) bool {
		api, ok := errors.AsType[smithy.APIError](err)
		return ok && slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(api.ErrorCode(), part) })
	}
}

// unreachable tells whether a request did not get as far as to be answered.
func unreachable(err error) bool { return is[*smithyhttp.RequestSendError](err) }

// credentialsRefused tells whether AWS did not accept who is calling.
// https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
func credentialsRefused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode() {
	case "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature":
		return true
	}
	return false
}
