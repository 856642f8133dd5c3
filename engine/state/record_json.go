package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

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

		TerminationProtection: o.Value("terminationProtection") == true,
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
	w.flag("terminationProtection", r.TerminationProtection)
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
		w.list("imports", importObjects(r.Imports))
	}
	if !slices.Equal(parseOutputReads(was), r.OutputReads) {
		w.list("outputReads", outputReadObjects(r.OutputReads))
	}
	w.put("exportNames", texts(r.ExportNames), r.ExportNames != nil)
}

func importObjects(imports []Import) (l []any) {
	for _, i := range imports {
		l = append(l, value.NewObject("sourceStack", i.SourceStack, "sourceRegion", i.SourceRegion, "exportName", i.ExportName))
	}
	return l
}

func outputReadObjects(reads []OutputRead) (l []any) {
	for _, o := range reads {
		l = append(l, value.NewObject("sourceStack", o.SourceStack, "sourceRegion", o.SourceRegion, "outputName", o.OutputName))
	}
	return l
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
// of other writers; what a row that was read lacks is not made up.
func (r *Resource) object() *value.Object {
	w := over(r.read)
	w.put("physicalId", r.PhysicalID, r.PhysicalID != "" || r.read == nil || w.o.Has("physicalId"))
	w.put("resourceType", r.ResourceType, r.ResourceType != "" || r.read == nil)
	switch {
	case r.Properties != nil:
		w.o.Set("properties", r.Properties)
	case r.read == nil:
		w.o.Set("properties", &value.Object{})
	}
	w.object("attributes", r.Attributes)
	w.put("dependencies", texts(r.Dependencies), len(r.Dependencies) > 0 || r.Dependencies != nil && w.o.Has("dependencies"))
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
