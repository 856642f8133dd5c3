package state

import (
	"fmt"
	"maps"
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
// what described the values before it. A row made anew (a create, a
// replacement) is a new Resource instead and keeps nothing.
func (r *Resource) Next() *Resource {
	c := r.Clone()
	c.NoEchoLeaves, c.NoEchoAttributes = nil, nil
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

// ParseRecord reads the body of a record; key names it in errors.
//
// With a *MalformedError about parts of the record comes what could be read of
// it, for commands that only show it. Nothing may be planned from that or
// written over the record.
func ParseRecord(key string, b []byte) (*Record, error) {
	o, err := parseObject(key, b)
	if err != nil {
		return nil, err
	}
	v, err := version(key, o, "version", 1, Version)
	if err != nil {
		return nil, err
	}
	var problems []string
	in := reader{o, "the record", &problems}
	r := &Record{
		Version:         int(v),
		StackName:       in.text("stackName"),
		Region:          in.text("region"),
		Resources:       map[string]*Resource{},
		Outputs:         in.object("outputs"),
		ParentStack:     in.text("parentStack"),
		ParentLogicalID: in.text("parentLogicalId"),
		ParentRegion:    in.text("parentRegion"),
		LastModified:    in.time("lastModified"),
		read:            o,
	}
	if rows, ok := o.Value("resources").(*value.Object); ok {
		for id, v := range rows.All() {
			if row := parseRow("resource "+id, v, &problems, true); row != nil {
				r.Set(id, row)
			}
		}
	} else {
		in.bad("resources", "an object")
	}
	r.Imports = parseImports(in)
	r.OutputReads = parseOutputReads(in)
	r.ExportNames = parseExportNames(o)
	r.Orphans = parseOrphans(in)
	if len(problems) > 0 {
		return r, &MalformedError{Key: key, Problems: problems}
	}
	return r, nil
}

// parseRow reads a row; a whole one must have a type and properties.
func parseRow(where string, v any, problems *[]string, whole bool) *Resource {
	o, ok := v.(*value.Object)
	if !ok {
		*problems = append(*problems, fmt.Sprintf("%s is %s and must be an object", where, value.Kind(v)))
		return nil
	}
	in := reader{o, where, problems}
	row := &Resource{
		PhysicalID:            in.text("physicalId"),
		ResourceType:          in.text("resourceType"),
		Properties:            in.object("properties"),
		Observed:              in.object("observedProperties"),
		Attributes:            in.object("attributes"),
		Dependencies:          in.texts("dependencies"),
		DeletionPolicy:        in.text("deletionPolicy"),
		UpdateReplacePolicy:   in.text("updateReplacePolicy"),
		ProvisionedBy:         in.text("provisionedBy"),
		NoEchoLeaves:          in.list("noEchoLeaves"),
		NoEchoAttributes:      in.texts("noEchoAttributeNames"),
		BaselineRefused:       in.flag("observedBaselineRefused"),
		BaselineRefusalReason: in.text("observedBaselineRefusalReason"),
		read:                  o,
	}
	if whole && o.Value("resourceType") == nil {
		in.bad("resourceType", "a string")
	}
	if whole && o.Value("properties") == nil {
		in.bad("properties", "an object")
	}
	return row
}

func parseImports(in reader) (l []Import) {
	in.objects("imports", func(e reader) {
		l = append(l, Import{e.text("sourceStack"), e.text("sourceRegion"), e.text("exportName")})
	})
	return l
}

func parseOutputReads(in reader) (l []OutputRead) {
	in.objects("outputReads", func(e reader) {
		l = append(l, OutputRead{e.text("sourceStack"), e.text("sourceRegion"), e.text("outputName")})
	})
	return l
}

// parseExportNames is lenient: what is not a list of names exports nothing.
func parseExportNames(o *value.Object) []string {
	v, ok := o.Get("exportNames")
	if !ok {
		return nil
	}
	names := []string{}
	l, _ := v.([]any)
	for _, v := range l {
		if s, ok := v.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

func parseOrphans(in reader) (l []Orphan) {
	seen := map[string]bool{}
	in.objects("orphans", func(e reader) {
		state := parseRow("state of "+e.where, e.from.Value("state"), in.problems, true)
		o := Orphan{LogicalID: e.text("logicalId"), OrphanedAt: e.time("orphanedAt"), State: state, read: e.from}
		switch {
		case o.LogicalID == "":
			e.bad("logicalId", "a string that is not empty")
		case seen[o.LogicalID]:
			*in.problems = append(*in.problems, fmt.Sprintf("orphan %s is listed twice", o.LogicalID))
		case state != nil && state.PhysicalID == "":
			*in.problems = append(*in.problems, fmt.Sprintf("orphan %s has no physical id", o.LogicalID))
		}
		seen[o.LogicalID] = true
		if state != nil {
			l = append(l, o)
		}
	})
	return l
}

// Marshal writes the record in version Version: members in the order in which
// they were read, new ones after them, unknown ones as they were.
func (r *Record) Marshal() ([]byte, error) {
	w := over(r.read)
	w.o.Set("version", value.Int(Version))
	w.o.Set("stackName", r.StackName)
	w.o.Set("region", r.Region)
	rows := &value.Object{}
	for _, id := range r.rowOrder() {
		rows.Set(id, r.Resources[id].object())
	}
	w.o.Set("resources", rows)
	w.object("outputs", r.Outputs)
	r.references(w)
	r.orphans(w)
	w.text("parentStack", r.ParentStack)
	w.text("parentLogicalId", r.ParentLogicalID)
	w.text("parentRegion", r.ParentRegion)
	w.o.Set("lastModified", value.Int(r.LastModified))
	return value.MarshalIndent(w.o)
}

// rowOrder is the order of the rows, with those that were put into the map
// directly at the end.
func (r *Record) rowOrder() []string {
	if len(r.order) == len(r.Resources) {
		return r.order
	}
	order := slices.DeleteFunc(slices.Clone(r.order), func(id string) bool { return r.Resources[id] == nil })
	for _, id := range slices.Sorted(maps.Keys(r.Resources)) {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	return order
}

// references writes the lists of cross-stack references. A list that did not
// change is left as read.
func (r *Record) references(w writer) {
	was := reader{w.o, "", new([]string)}
	if !slices.Equal(parseImports(was), r.Imports) {
		var l []any
		for _, i := range r.Imports {
			l = append(l, value.NewObject("sourceStack", i.SourceStack, "sourceRegion", i.SourceRegion, "exportName", i.ExportName))
		}
		w.list("imports", l)
	}
	if !slices.Equal(parseOutputReads(was), r.OutputReads) {
		var l []any
		for _, o := range r.OutputReads {
			l = append(l, value.NewObject("sourceStack", o.SourceStack, "sourceRegion", o.SourceRegion, "outputName", o.OutputName))
		}
		w.list("outputReads", l)
	}
	w.put("exportNames", texts(r.ExportNames), r.ExportNames != nil)
}

func (r *Record) orphans(w writer) {
	var l []any
	for _, o := range r.Orphans {
		e := over(o.read)
		e.o.Set("logicalId", o.LogicalID)
		e.o.Set("orphanedAt", value.Int(o.OrphanedAt))
		e.o.Set("state", o.State.object())
		l = append(l, e.o)
	}
	w.list("orphans", l)
}

// object is the row as it is written. New rows get their members in the order
// of other writers.
func (r *Resource) object() *value.Object {
	w := over(r.read)
	w.o.Set("physicalId", r.PhysicalID)
	w.o.Set("resourceType", r.ResourceType)
	if r.Properties != nil {
		w.o.Set("properties", r.Properties)
	} else {
		w.o.Set("properties", &value.Object{})
	}
	w.object("attributes", r.Attributes)
	if r.Dependencies == nil || len(r.Dependencies) > 0 || !w.o.Has("dependencies") {
		w.texts("dependencies", r.Dependencies)
	} else {
		w.o.Set("dependencies", []any{})
	}
	w.text("deletionPolicy", r.DeletionPolicy)
	w.text("updateReplacePolicy", r.UpdateReplacePolicy)
	w.text("provisionedBy", r.ProvisionedBy)
	w.object("observedProperties", r.Observed)
	w.flag("observedBaselineRefused", r.BaselineRefused)
	w.text("observedBaselineRefusalReason", r.BaselineRefusalReason)
	w.list("noEchoLeaves", r.NoEchoLeaves)
	w.texts("noEchoAttributeNames", r.NoEchoAttributes)
	return w.o
}
