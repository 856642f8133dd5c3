package state

import (
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// Version is the record version that this engine writes; it reads 1 to Version.
const Version = 11

// A Record is what is known of one deployed stack: state.json.
type Record struct {
	Version   int
	StackName string // physical; a nested child's is parent~logicalId
	Region    string

	// Resources by logical id. Change it through Set and Remove, which keep the
	// order in which rows were read or made.
	Resources map[string]*Resource

	// Outputs by name, and in the same bag by export name. Values keep their
	// JSON type. nil when the record has none.
	Outputs *value.Object

	Imports     []Import     // strong references to other stacks' exports
	OutputReads []OutputRead // weak ones
	ExportNames []string     // keys of Outputs that are exports; nil: unknown (an old record)
	Orphans     []Orphan     // resources that a rollback kept

	ParentStack, ParentLogicalID, ParentRegion string

	LastModified int64 // Unix milliseconds of the save

	order   []string
	unknown *value.Object // members that this version does not know, kept as read
}

// A Resource is one row of a Record.
type Resource struct {
	PhysicalID   string
	ResourceType string
	Properties   *value.Object // as sent, secrets as their expressions
	Observed     *value.Object // read back after the last change; nil: none
	Attributes   *value.Object // what Fn::GetAtt answers; nil: none
	Dependencies []string      // direct ones, at the time of the deploy

	DeletionPolicy, UpdateReplacePolicy string // "" when the template has none

	// ProvisionedBy is "sdk" or "cc-api"; "" in old records, meaning sdk.
	ProvisionedBy string

	unknown *value.Object
}

// The layers that a row's ProvisionedBy can name.
const (
	BySDK          = "sdk"
	ByCloudControl = "cc-api"
)

// An Import is a strong reference: the export cannot go while it stands.
type Import struct{ SourceStack, SourceRegion, ExportName string }

// An OutputRead is a weak reference, for information.
type OutputRead struct{ SourceStack, SourceRegion, OutputName string }

// An Orphan is a resource that a rollback took out of Resources and left in AWS.
type Orphan struct {
	LogicalID  string
	OrphanedAt int64 // Unix milliseconds
	State      *Resource
}

// NewRecord returns an empty record.
func NewRecord(stack, region string) *Record {
	return &Record{Version: Version, StackName: stack, Region: region, Resources: map[string]*Resource{}}
}

// Set adds a row, or replaces it where it stands.
func (r *Record) Set(logicalID string, row *Resource) {
	if _, ok := r.Resources[logicalID]; !ok {
		r.order = append(r.order, logicalID)
	}
	r.Resources[logicalID] = row
}

// Remove drops a row if it is there.
func (r *Record) Remove(logicalID string) {
	if _, ok := r.Resources[logicalID]; !ok {
		return
	}
	delete(r.Resources, logicalID)
	r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == logicalID })
}

// LogicalIDs returns the rows' ids in the record's order.
func (r *Record) LogicalIDs() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.order)
}

// Row returns the row of a logical id, nil when there is none; r may be nil.
func (r *Record) Row(logicalID string) *Resource {
	if r == nil {
		return nil
	}
	return r.Resources[logicalID]
}
