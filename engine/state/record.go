package state

import (
	"slices"
	"time"

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

	// TerminationProtection is what the app said of the stack when it was deployed.
	// It is a member of our own, which others keep or drop.
	TerminationProtection bool

	LastModified int64 // Unix milliseconds of the save

	order []string
	read  *value.Object // the object as read, with the members not known here
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

	// NoEchoLeaves are the paths, made of strings and numbers, at which
	// Properties hold a mask instead of a NoEcho value; NoEchoAttributes names
	// such attributes.
	NoEchoLeaves     []any
	NoEchoAttributes []string

	// BaselineRefused forbids making Observed out of Properties; the reason is
	// one of the format's own words, or "".
	BaselineRefused       bool
	BaselineRefusalReason string

	read *value.Object
}

// The layers that a row's ProvisionedBy can name.
const (
	BySDK          = "sdk"
	ByCloudControl = "cc-api"
)

// Masked stands for a NoEcho value in a record. It is never sent to AWS and
// never compared as a value.
const Masked = "***"

// An Import is a strong reference: the export cannot go while it stands.
type Import struct{ SourceStack, SourceRegion, ExportName string }

// An OutputRead is a weak reference, for information.
type OutputRead struct{ SourceStack, SourceRegion, OutputName string }

// An Orphan is a resource that a rollback took out of Resources and left in AWS.
type Orphan struct {
	LogicalID  string
	OrphanedAt int64 // Unix milliseconds
	State      *Resource

	read *value.Object
}

// same tells whether a row is about the resource that was left.
func (o Orphan) same(row *Resource) bool {
	return o.State != nil && o.State.ResourceType == row.ResourceType && SameResource(row.ResourceType, o.State.PhysicalID, row.PhysicalID)
}

// NewRecord returns an empty record.
func NewRecord(stack, region string) *Record {
	return &Record{Version: Version, StackName: stack, Region: region, Resources: map[string]*Resource{}}
}

// Set adds a row, or replaces it where it stands. A resource that a rollback had
// left is no longer left when a row names it.
func (r *Record) Set(logicalID string, row *Resource) {
	r.Orphans = slices.DeleteFunc(r.Orphans, func(o Orphan) bool {
		return o.LogicalID == logicalID && o.same(row)
	})
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

// Orphan moves a row to the resources that rollbacks left in AWS. There is room
// for one of a logical id: another resource that was left under it before gives
// way, and is returned.
func (r *Record) Orphan(logicalID string, row *Resource, at time.Time) (displaced *Orphan) {
	r.Remove(logicalID)
	r.Orphans = slices.DeleteFunc(r.Orphans, func(o Orphan) bool {
		if o.LogicalID != logicalID {
			return false
		}
		if !o.same(row) {
			displaced = &o
		}
		return true
	})
	r.Orphans = append(r.Orphans, Orphan{LogicalID: logicalID, OrphanedAt: at.UnixMilli(), State: row})
	return displaced
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

// Exports returns the keys of Outputs that another stack may import. A record
// that does not say so exports all of them.
func (r *Record) Exports() []string {
	if r == nil {
		return nil
	}
	if r.ExportNames == nil {
		return r.Outputs.Keys()
	}
	return slices.DeleteFunc(slices.Clone(r.ExportNames), func(n string) bool { return !r.Outputs.Has(n) })
}

// Clone returns a copy that can be changed without changing r. JSON values are
// shared: they are never changed in place.
func (r *Record) Clone() *Record {
	if r == nil {
		return nil
	}
	c := *r
	c.Resources = make(map[string]*Resource, len(r.Resources))
	for id, row := range r.Resources {
		c.Resources[id] = row.Clone()
	}
	c.order = slices.Clone(r.order)
	c.Imports = slices.Clone(r.Imports)
	c.OutputReads = slices.Clone(r.OutputReads)
	c.ExportNames = slices.Clone(r.ExportNames)
	c.Orphans = slices.Clone(r.Orphans)
	for i := range c.Orphans {
		c.Orphans[i].State = c.Orphans[i].State.Clone()
	}
	return &c
}

// Drop removes a member that this package does not know, at the stack's level:
// a command that rebuilds a record outside a deploy drops skippedOutputs.
func (r *Record) Drop(member string) {
	w := over(r.read)
	w.o.Delete(member)
	r.read = w.o
}

// Clone returns a copy of the row, for a change that carries it forward.
func (r *Resource) Clone() *Resource {
	if r == nil {
		return nil
	}
	c := *r
	c.Dependencies = slices.Clone(r.Dependencies)
	c.NoEchoLeaves = slices.Clone(r.NoEchoLeaves)
	c.NoEchoAttributes = slices.Clone(r.NoEchoAttributes)
	return &c
}

// Next returns the row to record after an update in place: a Clone without
// what described the values before it, the properties read back among them.
// A row made anew (a create, a replacement) is a new Resource instead and
// keeps nothing.
func (r *Resource) Next() *Resource {
	c := r.Clone()
	c.Observed, c.NoEchoLeaves, c.NoEchoAttributes = nil, nil, nil
	w := over(c.read)
	for _, name := range []string{
		"noEchoLeaves", "noEchoAttributeNames", "noEchoExactEchoLeaves",
		"maskedPropertyFingerprints", "maskedPropertyInputFingerprints", "acceptedCreateOnlyDrops",
	} {
		w.o.Delete(name)
	}
	c.read = w.o
	return c
}
