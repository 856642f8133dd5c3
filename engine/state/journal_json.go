package state

import (
	"encoding/json"

	"github.com/org/cdkd-action/engine/value"
)

// ParseJournal reads the body of a journal; key names it in errors.
func ParseJournal(key string, b []byte) (*Journal, error) {
	const hint = "remove the object to give up the rollback of what it names, or restore an earlier version of it"
	o, err := parseObject(key, b)
	var problems []string
	if err != nil {
		if m, ok := err.(*MalformedError); ok {
			m.Hint = hint
		}
		return nil, err
	}
	if n, ok := o.Value("journalVersion").(json.Number); !ok {
		problems = append(problems, "journalVersion is "+value.Kind(o.Value("journalVersion"))+" and must be a number")
	} else if f, err := n.Float64(); err != nil || f < 1 {
		problems = append(problems, "journalVersion is below 1")
	} else if f > journalVersion {
		return nil, &VersionError{Key: key, Found: n.String(), Understood: "1"}
	}
	in := reader{o, "the journal", &problems}
	if o.Value("segments") == nil {
		in.bad("segments", "a list")
	}
	j := &Journal{StackName: in.text("stackName"), Region: in.text("region"), read: o}
	in.objects("segments", func(e reader) { j.Segments = append(j.Segments, parseSegment(e)) })
	if len(problems) > 0 {
		return nil, &MalformedError{Key: key, Problems: problems, Hint: hint}
	}
	return j, nil
}

func parseSegment(in reader) *Segment {
	g := &Segment{
		RunID:           in.text("runId"),
		Timestamp:       in.time("timestamp"),
		Reason:          Reason(in.text("reason")),
		InitialDeploy:   in.flag("initialDeploy"),
		RoleARN:         in.text("roleArn"),
		EngineVersion:   in.text("cdkdVersion"),
		PreviousOutputs: in.object("previousOutputs"),
		PreviousReads:   in.object("previousCrossStackReads"),
		Superseded:      in.texts("supersededLogicalIds"),
		read:            in.from,
	}
	in.objects("operations", func(e reader) { g.Operations = append(g.Operations, parseOperation(e, "properties")) })
	in.objects("failedOperations", func(e reader) { g.Failed = append(g.Failed, parseOperation(e, "attemptedProperties")) })
	return g
}

func parseOperation(in reader, properties string) *Operation {
	op := &Operation{
		LogicalID:           in.text("logicalId"),
		ResourceType:        in.text("resourceType"),
		ChangeType:          in.text("changeType"),
		PhysicalID:          in.text("physicalId"),
		ProvisionedBy:       in.text("provisionedBy"),
		Properties:          in.object(properties),
		OldRetained:         in.flag("oldResourceRetained"),
		OldDeletedFirst:     in.flag("oldDeletedBeforeCreate"),
		PreviousType:        in.text("previousResourceType"),
		IDFromError:         in.flag("physicalIdRecoveredFromError"),
		DeletionPolicy:      in.text("deletionPolicy"),
		ReplacedID:          in.text("replacedPhysicalId"),
		ReplacedType:        in.text("replacedResourceType"),
		ReplacedDeleted:     in.flag("replacedResourceDeleted"),
		ReplacementOrphaned: in.text("replacementOrphaned"),
		read:                in.from,
	}
	if v := in.from.Value("wasReplaced"); v != nil {
		was := in.flag("wasReplaced")
		op.WasReplaced = &was
	}
	if v := in.from.Value("previousState"); v != nil {
		op.Previous = parseRow("previousState of "+in.where, v, in.problems, false)
	}
	if op.LogicalID == "" {
		in.bad("logicalId", "a string that is not empty")
	}
	for _, name := range []string{"resourceType", "changeType"} {
		if in.from.Value(name) == nil {
			in.bad(name, "a string")
		}
	}
	return op
}

// Marshal writes the journal.
func (j *Journal) Marshal() ([]byte, error) {
	w := over(j.read)
	w.o.Set("journalVersion", value.Int(journalVersion))
	w.o.Set("stackName", j.StackName)
	w.o.Set("region", j.Region)
	segments := make([]any, len(j.Segments))
	for i, g := range j.Segments {
		segments[i] = g.object()
	}
	w.o.Set("segments", segments)
	return value.MarshalIndent(w.o)
}

func (g *Segment) object() *value.Object {
	w := over(g.read)
	w.text("runId", g.RunID)
	w.o.Set("timestamp", value.Int(g.Timestamp))
	w.o.Set("reason", string(g.Reason))
	w.o.Set("initialDeploy", g.InitialDeploy)
	w.text("roleArn", g.RoleARN)
	w.text("cdkdVersion", g.EngineVersion)
	w.o.Set("operations", operations(g.Operations, "properties"))
	w.list("failedOperations", operations(g.Failed, "attemptedProperties"))
	w.object("previousOutputs", g.PreviousOutputs)
	w.object("previousCrossStackReads", g.PreviousReads)
	w.texts("supersededLogicalIds", g.Superseded)
	return w.o
}

func operations(ops []*Operation, properties string) []any {
	l := make([]any, len(ops))
	for i, op := range ops {
		l[i] = op.object(properties)
	}
	return l
}

func (op *Operation) object(properties string) *value.Object {
	w := over(op.read)
	w.o.Set("logicalId", op.LogicalID)
	w.o.Set("changeType", op.ChangeType)
	w.o.Set("resourceType", op.ResourceType)
	w.text("provisionedBy", op.ProvisionedBy)
	if op.Previous != nil {
		w.o.Set("previousState", op.Previous.object())
	} else {
		w.o.Delete("previousState")
	}
	w.text("physicalId", op.PhysicalID)
	w.object(properties, op.Properties)
	w.flag("oldResourceRetained", op.OldRetained)
	w.flag("oldDeletedBeforeCreate", op.OldDeletedFirst)
	if op.WasReplaced != nil {
		w.o.Set("wasReplaced", *op.WasReplaced)
	} else {
		w.o.Delete("wasReplaced")
	}
	w.text("previousResourceType", op.PreviousType)
	w.flag("physicalIdRecoveredFromError", op.IDFromError)
	w.text("deletionPolicy", op.DeletionPolicy)
	w.text("replacedPhysicalId", op.ReplacedID)
	w.text("replacedResourceType", op.ReplacedType)
	w.flag("replacedResourceDeleted", op.ReplacedDeleted)
	w.text("replacementOrphaned", op.ReplacementOrphaned)
	return w.o
}
