package ci

import "time"

// A Name is a command's name, as on the command line and in the input
// "command".
type Name string

// The commands.
const (
	Deploy      Name = "deploy"
	Diff        Name = "diff"
	Check       Name = "check"
	Drift       Name = "drift"
	Destroy     Name = "destroy"
	Synth       Name = "synth"
	List        Name = "list"
	Publish     Name = "publish-assets"
	StateList   Name = "state list"
	StateShow   Name = "state show"
	StateInfo   Name = "state info"
	StateRows   Name = "state resources"
	StateOrphan Name = "state orphan"

	StateDestroy Name = "state destroy"
	Sweep        Name = "sweep"
	StateMigrate Name = "state migrate"
	StateRefresh Name = "state refresh-observed"

	Scrub       Name = "scrub"
	OrphanPaths Name = "orphan"
	Import      Name = "import"
	Export      Name = "export"

	Events      Name = "events"
	EventsPrune Name = "events prune"
	ForceUnlock Name = "force-unlock"
	Rollback    Name = "rollback"
	Bootstrap   Name = "bootstrap"
	GC          Name = "gc"
	Doctor      Name = "doctor"
	Permissions Name = "permissions"
	Demo        Name = "demo"
)

// A CommentMode says what becomes of the pull request comment.
type CommentMode string

// The comment modes.
const (
	CommentUpdate  CommentMode = "update"  // one comment, edited in place
	CommentRepost  CommentMode = "repost"  // the old one is folded away
	CommentChanges CommentMode = "changes" // like update, once there is a change
	CommentOff     CommentMode = "off"
)

// An ApprovalMode says what needs somebody's agreement.
type ApprovalMode string

// The approval modes.
const (
	ApprovalNever      ApprovalMode = "never"
	ApprovalBroadening ApprovalMode = "broadening"
	ApprovalAnyChange  ApprovalMode = "any-change"
)

// A PartialMode says what a partial outcome does to the step.
type PartialMode string

// The partial modes.
const (
	PartialFail PartialMode = "fail"
	PartialWarn PartialMode = "warn" // the step stays green
)

// OnExportsInUse is what becomes of a deploy that gives up what other stacks import.
type OnExportsInUse string

// What can become of it.
const (
	ExportsRefuse OnExportsInUse = "refuse"
	ExportsWarn   OnExportsInUse = "warn"
)

// A WaitMode says which resources a deploy waits for until they are ready.
type WaitMode string

// The wait modes.
const (
	WaitNone    WaitMode = "none"    // only where the deploy could not go on
	WaitDefault WaitMode = "default" // where something needs it, or failure shows
	WaitFull    WaitMode = "full"    // all
)

// A ProgressMode says how what is under way is shown.
type ProgressMode string

// The progress modes.
const (
	ProgressAuto  ProgressMode = "auto"  // as a table, on a terminal
	ProgressPlain ProgressMode = "plain" // as lines
)

// A TimeLimit is how long something may take.
type TimeLimit struct {
	Each time.Duration
	Of   map[string]time.Duration // in its place, by resource type
}

// Inputs is what a run was asked to do. [Table] says what each field means.
type Inputs struct {
	Command Name

	Stacks      []string
	All         bool
	Exclusively bool
	StackRegion string

	App              string
	BaseApp          string // a folder
	WorkingDirectory string
	Context          []string // key=value
	Output           string   // the folder of the assembly that the app writes
	SynthTimeout     time.Duration
	SynthKeepEnv     []string // names, or patterns of them
	SynthRemoveEnv   []string
	SynthCredentials bool
	SynthValidation  bool
	Strict           bool
	IgnoreErrors     bool
	Parameters       map[string]string // by Name or Stack:Name

	Region      string
	RoleARNs    []string // of one account each, the first for all stacks that name none
	StateBucket string
	StatePrefix string

	Rollback         bool
	RevertFailed     bool
	DropFailed       []string
	Force            bool
	Orphan           []string
	Resources        []string // of an import LogicalId=physical-id
	Pending          []string
	DryRun           bool
	Fail             bool
	Accept           bool
	Revert           bool
	Yes              bool
	RemoveProtection bool
	PurgeEvents      bool

	SkipFinalSnapshot bool

	ResourceMapping       string // files
	RecordResourceMapping string
	ResourceMappingInline string
	Tags                  []string // key=value, or key
	LogicalIDTag          string
	Auto                  bool

	CFNStackName         string
	FromCloudFormation   bool
	IncludeNonImportable bool
	CFNChildStackNames   map[string]string // by logical ids, joined by /
	StrictCrossStack     bool
	AcceptContext        bool

	SkipAssets       bool
	CDKStorage       bool
	MakeStorage      bool
	ExpandMacros     bool
	StrictGetAtt     bool
	ExportsInUse     OnExportsInUse
	PinCCAPI         bool
	CFNFallback      bool
	AggressiveVPC    bool
	OwnershipTag     bool
	AllowUnaddressed bool

	RequireApproval     ApprovalMode
	ApprovedPlan        string // a digest
	RequireReviewedPlan bool
	OnPartial           PartialMode

	Replace        bool
	LoseData       []string // logical ids, or Stack:LogicalID; "true": all
	Recreate       []string // like LoseData, and the next two
	RecreateViaCC  []string
	RecreateViaSDK []string

	AllowUnsupportedTypes      []string
	AllowUnsupportedProperties []string // Type:Property

	Wait             WaitMode
	LockWait         time.Duration
	ResourceTimeout  TimeLimit
	RecycleHandlers  bool
	Concurrency      int
	StackConcurrency int

	AssetPublishConcurrency int
	ImageBuildConcurrency   int

	GitHubToken string
	Comment     CommentMode
	CommentKey  string
	ShowValues  []string
	PlanFile    string
	DriftIssues bool

	CaptureObservedState bool

	Environment, EnvironmentURL string

	Assets             bool
	AssetBucket        string
	ContainerRepo      string
	Dismantle          bool
	IncludeStateBucket bool
	NoOtherStateBucket bool

	LegacyBucket string
	NewBucket    string
	RemoveLegacy bool

	For         string // what permissions are for
	CheckCaller bool

	Run       string
	Keep      int // 0: not given
	OlderThan time.Duration

	ShowNested       bool
	ShowDependencies bool

	Long    bool
	Tree    bool
	JSON    bool
	Verbose bool

	Progress ProgressMode
}
