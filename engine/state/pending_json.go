package state

import (
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// ParsePending reads the body of the object of open operations. An entry that
// is malformed is kept, as one that nobody can resolve but a person.
func ParsePending(key string, b []byte) (*Pending, error) {
	const hint = "restore an earlier version of the object; or look whether what it names exists, " +
		"and drop it with: cdkd-action state orphan <stack> --pending all"
	o, err := parseObject(key, b)
	if m, ok := err.(*MalformedError); ok {
		m.Hint = hint
	}
	if err != nil {
		return nil, err
	}
	if _, err := version(key, o, "pendingVersion", 0, pendingVersion); err != nil {
		return nil, err
	}
	var problems []string
	in := reader{o, "the object", &problems}
	p := &Pending{
		RunID: in.text("runId"), Owner: in.text("owner"), WrittenAt: in.time("writtenAt"), SealedAt: in.time("sealedAt"),
		LedgerNonce: in.text("ledgerNonce"), RecordModified: in.time("recordLastModified"),
		stackName: in.text("stackName"), region: in.text("region"), read: o,
	}
	for i, v := range in.list("operations") {
		p.Operations = append(p.Operations, parseOpen(fmt.Sprintf("operations[%d]", i), v))
	}
	for i, v := range in.list("leftovers") {
		p.Leftovers = append(p.Leftovers, parseLeftover(fmt.Sprintf("leftovers[%d]", i), v))
	}
	if len(problems) > 0 {
		return nil, &MalformedError{Key: key, Problems: problems, Hint: hint}
	}
	return p, nil
}

func parseOpen(where string, v any) OpenOperation {
	o, ok := v.(*value.Object)
	if !ok {
		return OpenOperation{Malformed: where + " is " + value.Kind(v) + " and must be an object", read: v}
	}
	var problems []string
	in := reader{o, where, &problems}
	op := OpenOperation{
		LogicalID: in.text("logicalId"), ResourceType: in.text("resourceType"), ChangeType: in.text("changeType"),
		ProvisionedBy: in.text("provisionedBy"), Stage: in.text("stage"), StartedAt: in.time("startedAt"), Replacing: in.flag("replacing"),
		RequestToken: in.text("requestToken"), ClientToken: in.text("clientToken"), PhysicalID: in.text("physicalId"),
		Name: in.text("name"), NameOrigin: in.text("nameOrigin"),
		ResponseKey: in.text("responseKey"), RequestID: in.text("requestId"), AnswerBy: in.time("answerBy"),
		Properties: in.object("properties"), PropertiesOmitted: in.flag("propertiesOmitted"),
		DeletionPolicy: in.text("deletionPolicy"), UpdateReplacePolicy: in.text("updateReplacePolicy"),
		Dependencies: in.texts("dependencies"), RoleARN: in.text("roleArn"), Void: in.flag("void"), read: o,
	}
	if v := o.Value("previous"); v != nil {
		op.Previous = parseRow("previous of "+where, v, &problems, false)
	}
	for _, name := range [...]string{"logicalId", "resourceType"} {
		if o.String(name) == "" {
			in.bad(name, "a string that is not empty")
		}
	}
	if !slices.Contains([]string{OpCreate, OpUpdate, OpDelete}, op.ChangeType) {
		in.bad("changeType", "CREATE, UPDATE or DELETE")
	}
	if !slices.Contains([]string{StageSent, StageAccepted, StageSettling}, op.Stage) {
		in.bad("stage", "sent, accepted or settling")
	}
	if op.StartedAt <= 0 {
		in.bad("startedAt", "a time")
	}
	if len(problems) > 0 {
		op.Malformed = problems[0]
	}
	return op
}

func parseLeftover(where string, v any) Leftover {
	o, ok := v.(*value.Object)
	if !ok {
		return Leftover{Malformed: where + " is " + value.Kind(v) + " and must be an object", read: v}
	}
	var problems []string
	in := reader{o, where, &problems}
	l := Leftover{
		LogicalID: in.text("logicalId"), ResourceType: in.text("resourceType"), PhysicalID: in.text("physicalId"),
		ProvisionedBy: in.text("provisionedBy"), Reason: in.text("reason"), Since: in.time("since"),
		Void: in.flag("void"), read: o,
	}
	if v := o.Value("previous"); v != nil {
		l.Previous = parseRow("previous of "+where, v, &problems, false)
	}
	for _, name := range [...]string{"logicalId", "resourceType", "physicalId"} {
		if o.String(name) == "" {
			in.bad(name, "a string that is not empty")
		}
	}
	if !slices.Contains([]string{LeftReplaced, LeftRemnant, LeftSuperseded}, l.Reason) {
		in.bad("reason", "replaced, remnant or superseded")
	}
	if len(problems) > 0 {
		l.Malformed = problems[0]
	}
	return l
}

// marshal writes the object within its limits. What is too much goes from the
// properties, the largest first; what identifies a resource never goes.
func (p *Pending) marshal() ([]byte, error) {
	p = p.clone()
	for i := range p.Operations {
		if op := &p.Operations[i]; op.Malformed == "" && size(op.Properties) > pendingProperties {
			op.omit()
		}
	}
	for {
		b, err := p.write()
		excess := len(b) - pendingBytes
		if len(p.Operations)+len(p.Leftovers) > pendingEntries {
			excess = len(b)
		}
		if err != nil || excess <= 0 || !p.shorten(excess) {
			return b, err
		}
	}
}

// shorten leaves out properties of at least so many bytes, or all, and tells
// whether there were any.
func (p *Pending) shorten(bytes int) (changed bool) {
	type part struct {
		size int
		omit func()
	}
	var parts []part
	for i := range p.Operations {
		op := &p.Operations[i]
		if n := size(op.Properties) + op.Previous.size(); n > 0 && op.Malformed == "" {
			parts = append(parts, part{n, op.omit})
		}
	}
	for i := range p.Leftovers {
		l := &p.Leftovers[i]
		if n := l.Previous.size(); n > 0 && l.Malformed == "" {
			parts = append(parts, part{n, func() { l.Previous = l.Previous.bare() }})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return b.size - a.size })
	for _, part := range parts {
		if bytes > 0 {
			part.omit()
			bytes -= part.size
			changed = true
		}
	}
	return changed
}

func size(o *value.Object) int {
	if o.Len() == 0 {
		return 0
	}
	return len(value.JSON(o))
}

func (op *OpenOperation) omit() {
	op.Properties, op.PropertiesOmitted = nil, true
	op.Previous = op.Previous.bare()
}

// size is that of the row's properties.
func (r *Resource) size() int {
	if r == nil {
		return 0
	}
	return size(r.Properties)
}

// bare is the row without its properties.
func (r *Resource) bare() *Resource {
	if r = r.Clone(); r != nil {
		r.Properties = &value.Object{}
	}
	return r
}

func (p *Pending) write() ([]byte, error) {
	w := over(p.read)
	w.o.Set("pendingVersion", value.Int(pendingVersion))
	w.o.Set("stackName", p.stackName)
	w.o.Set("region", p.region)
	w.o.Set("runId", p.RunID)
	w.o.Set("owner", p.Owner)
	w.o.Set("writtenAt", value.Int(p.WrittenAt))
	w.put("sealedAt", value.Int(p.SealedAt), p.SealedAt > 0)
	w.o.Set("ledgerNonce", p.LedgerNonce)
	if p.RecordModified > 0 {
		w.o.Set("recordLastModified", value.Int(p.RecordModified))
	} else {
		w.o.Set("recordLastModified", nil)
	}
	operations, leftovers := make([]any, len(p.Operations)), make([]any, len(p.Leftovers))
	for i := range p.Operations {
		operations[i] = p.Operations[i].value()
	}
	for i := range p.Leftovers {
		leftovers[i] = p.Leftovers[i].value()
	}
	w.o.Set("operations", operations)
	w.o.Set("leftovers", leftovers)
	return value.MarshalIndent(w.o)
}

func (op *OpenOperation) value() any {
	if op.Malformed != "" {
		return op.read
	}
	read, _ := op.read.(*value.Object)
	w := over(read)
	w.o.Set("logicalId", op.LogicalID)
	w.o.Set("resourceType", op.ResourceType)
	w.o.Set("changeType", op.ChangeType)
	w.o.Set("provisionedBy", op.ProvisionedBy)
	w.o.Set("stage", op.Stage)
	w.o.Set("startedAt", value.Int(op.StartedAt))
	w.flag("replacing", op.Replacing)
	w.text("requestToken", op.RequestToken)
	w.text("clientToken", op.ClientToken)
	w.text("physicalId", op.PhysicalID)
	w.text("name", op.Name)
	w.text("nameOrigin", op.NameOrigin)
	w.text("responseKey", op.ResponseKey)
	w.text("requestId", op.RequestID)
	w.put("answerBy", value.Int(op.AnswerBy), op.AnswerBy > 0)
	w.object("properties", op.Properties)
	w.flag("propertiesOmitted", op.PropertiesOmitted)
	previous(w, op.Previous)
	w.text("deletionPolicy", op.DeletionPolicy)
	w.text("updateReplacePolicy", op.UpdateReplacePolicy)
	w.texts("dependencies", op.Dependencies)
	w.text("roleArn", op.RoleARN)
	w.flag("void", op.Void)
	return w.o
}

func (l *Leftover) value() any {
	if l.Malformed != "" {
		return l.read
	}
	read, _ := l.read.(*value.Object)
	w := over(read)
	w.o.Set("logicalId", l.LogicalID)
	w.o.Set("resourceType", l.ResourceType)
	w.o.Set("physicalId", l.PhysicalID)
	w.o.Set("provisionedBy", l.ProvisionedBy)
	previous(w, l.Previous)
	w.o.Set("reason", l.Reason)
	w.o.Set("since", value.Int(l.Since))
	w.flag("void", l.Void)
	return w.o
}

func previous(w writer, row *Resource) {
	if row == nil {
		w.o.Delete("previous")
		return
	}
	w.o.Set("previous", row.object())
}
