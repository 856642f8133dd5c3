// Package guide names the pages of docs/errors: one for each kind of failure that
// somebody can meet, with what it means and what to do about it.
//
// A page's name stands in logs and comments for good, and people link to it, so it
// is never given to something else. Which failure has which page is decided by the
// types of errors, where they are known: see engine.Page.
package guide

import (
	"regexp"
	"strings"
)

// A Page is the name of a page, "" for none.
type Page string

// The pages about what a run was given, and what it needs to begin.
const (
	Inputs           Page = "inputs"
	Consent          Page = "consent"
	Credentials      Page = "credentials"
	Network          Page = "network"
	WrongAccount     Page = "wrong-account"
	WrongRegion      Page = "wrong-region"
	GitHub           Page = "github"
	StackSelection   Page = "stack-selection"
	StackName        Page = "stack-name"
	SecretInName     Page = "secret-in-name"
	UnknownParameter Page = "unknown-parameter"
	UnknownStack     Page = "unknown-stack"
	UnknownResource  Page = "unknown-resource"
	SeveralRegions   Page = "several-regions"
)

// The pages about the app and its assembly.
const (
	NoApp              Page = "no-app"
	NoProgram          Page = "no-program"
	AppFailed          Page = "app-failed"
	AppTimeout         Page = "app-timeout"
	AppErrors          Page = "app-errors"
	NoAssembly         Page = "no-assembly"
	AssemblyUnreadable Page = "assembly-unreadable"
	LookupFailed       Page = "lookup-failed"
	MissingContext     Page = "missing-context"
)

// The pages about templates.
const (
	Template           Page = "template"
	Reference          Page = "reference"
	MaskedValue        Page = "masked-value"
	Macro              Page = "macro"
	CircularDependency Page = "circular-dependency"
	UnsupportedType    Page = "unsupported-type"
	UnknownProperty    Page = "unknown-property"
	PropertyValue      Page = "property-value"
	SameName           Page = "same-name"
	ImportMissing      Page = "import-missing"
	ImportWithdrawn    Page = "import-withdrawn"
	ExportInUse        Page = "export-in-use"
	ExportTaken        Page = "export-taken"
	OutputsIncomplete  Page = "outputs-incomplete"
)

// The pages about assets and their storage.
const (
	AssetSource        Page = "asset-source"
	AssetBucket        Page = "asset-bucket"
	AssetStorage       Page = "asset-storage"
	ImageBuild         Page = "image-build"
	NoContainerBuilder Page = "no-container-builder"
)

// The pages about the state bucket, locks and records.
const (
	NoStateBucket       Page = "no-state-bucket"
	StateBucketDenied   Page = "state-bucket-denied"
	StateBucketFailed   Page = "state-bucket-failed"
	StateBucketForeign  Page = "state-bucket-foreign"
	StateBucketSettings Page = "state-bucket-settings"
	BucketsDiffer       Page = "buckets-differ"
	InUse               Page = "in-use"
	LockHeld            Page = "lock-held"
	LocksInTheWay       Page = "locks-in-the-way"
	LockLost            Page = "lock-lost"
	StateConflict       Page = "state-conflict"
	RegisteredElsewhere Page = "registered-elsewhere"
	RecordMalformed     Page = "record-malformed"
	RecordNewer         Page = "record-newer"
	RecordNotSaved      Page = "record-not-saved"
	OperationOpen       Page = "operation-open"
	OperationUnresolved Page = "operation-unresolved"
)

// The pages about what somebody has to agree to.
const (
	ApprovalRequired Page = "approval-required"
	PlanChanged      Page = "plan-changed"
)

// The pages about resources, and how a run ends because of them.
const (
	AccessDenied          Page = "access-denied"
	AlreadyExists         Page = "already-exists"
	AWSRefused            Page = "aws-refused"
	Throttled             Page = "throttled"
	Quota                 Page = "quota"
	NameHeld              Page = "name-held"
	NameTaken             Page = "name-taken"
	NotStable             Page = "not-stable"
	CustomResource        Page = "custom-resource"
	CustomResourceTimeout Page = "custom-resource-timeout"
	ResourceGone          Page = "resource-gone"
	ResourceFailed        Page = "resource-failed"
	FailedEarlier         Page = "failed-earlier"
	ReplacementRefused    Page = "replacement-refused"
	UpdateNotSupported    Page = "update-not-supported"
	FinalSnapshot         Page = "final-snapshot"
	NoEchoNotGiven        Page = "noecho-not-given"
	NoEchoNotComparable   Page = "noecho-not-comparable"
	Interrupted           Page = "interrupted"
	LeftOver              Page = "left-over"
	RollbackIncomplete    Page = "rollback-incomplete"
	NothingToRollBack     Page = "nothing-to-roll-back"
	Internal              Page = "internal"
)

// The pages about day two.
const (
	TerminationProtection Page = "termination-protection"
	Drifted               Page = "drifted"
	RecordedAlready       Page = "recorded-already"
	ImportRefused         Page = "import-refused"
	ExportRefused         Page = "export-refused"
	AppDiffers            Page = "app-differs"
	CloudFormationStack   Page = "cloudformation-stack"
	CloudFormationFailed  Page = "cloudformation-failed"
	CloudFormationRefused Page = "cloudformation-refused"
	HandoverUnfinished    Page = "handover-unfinished"
	ReferencesUnread      Page = "references-unread"
	NotReadable           Page = "not-readable"
	PermissionsUnchecked  Page = "permissions-unchecked"
	PermissionsMissing    Page = "permissions-missing"
	SecretsRecorded       Page = "secrets-recorded"
	ChecksFailed          Page = "checks-failed"
)

var release = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// URL is the address of the page as it was when the version was released; of what
// is no release it is the newest. "" without a page.
func (p Page) URL(version string) string {
	if p == "" {
		return ""
	}
	revision := "main"
	number := version[strings.LastIndexByte(version, '/')+1:] // it may be written program/number
	if release.MatchString(number) {
		revision = "v" + number
	}
	return "https://github.com/org/cdkd-action/blob/" + revision + "/docs/errors/" + string(p) + ".md"
}
