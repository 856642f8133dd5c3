package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/value"
)

const retainedVersion = 1

// A Retained is a list of what a stack let go of while it still existed:
// retained.json. Kept resources are the stack's own when it is deployed again.
// An empty list says that nothing was kept, which no list does not say: so it
// is never deleted.
type Retained struct {
	Resources []Kept

	read *value.Object
}

// A Kept is one resource that was let go of.
type Kept struct {
	LogicalID, ResourceType, PhysicalID string
	// KeptAt is when, in Unix milliseconds by the store's clock; 0 is not known.
	KeptAt int64

	read *value.Object
}

func (k Kept) same(o Kept) bool {
	return k.ResourceType == o.ResourceType && k.PhysicalID == o.PhysicalID
}

// licenses tells whether the list accounts for a resource.
func (r *Retained) licenses(h Holder) bool {
	return slices.ContainsFunc(r.Resources, func(k Kept) bool {
		return k.ResourceType == h.Type && SameResource(h.Type, k.PhysicalID, h.PhysicalID) &&
			(k.KeptAt == 0 || within(h.Created, k.KeptAt)) // so is what does not say when it was made
	})
}

// parseRetained reads the body of a list. A malformed entry accounts for
// nothing and is left out.
func parseRetained(key string, b []byte) (*Retained, error) {
	const hint = "restore an earlier version of the object; or remove it, if nothing that this stack kept is to be taken back"
	o, err := parseObject(key, b)
	if m, ok := err.(*MalformedError); ok {
		m.Hint = hint
	}
	if err != nil {
		return nil, err
	}
	if _, err := version(key, o, "retainedVersion", 0, retainedVersion); err != nil {
		return nil, err
	}
	l, ok := o.Value("resources").([]any)
	if !ok {
		return nil, &MalformedError{Key: key, Hint: hint,
			Problems: []string{"resources is " + value.Kind(o.Value("resources")) + " and must be a list"}}
	}
	r := &Retained{read: o}
	for _, v := range l {
		if e, ok := v.(*value.Object); ok {
			k := Kept{LogicalID: e.String("logicalId"), ResourceType: e.String("resourceType"), PhysicalID: e.String("physicalId"), read: e}
			if n, ok := e.Value("keptAt").(json.Number); ok {
				k.KeptAt, _ = integer(n)
			}
			if k.LogicalID != "" && k.ResourceType != "" && k.PhysicalID != "" {
				r.Resources = append(r.Resources, k)
			}
		}
	}
	return r, nil
}

func (r *Retained) marshal() ([]byte, error) {
	w := over(r.read)
	w.o.Set("retainedVersion", value.Int(retainedVersion))
	l := make([]any, len(r.Resources))
	for i, k := range r.Resources {
		e := over(k.read)
		e.o.Set("logicalId", k.LogicalID)
		e.o.Set("resourceType", k.ResourceType)
		e.o.Set("physicalId", k.PhysicalID)
		e.put("keptAt", value.Int(k.KeptAt), k.KeptAt > 0)
		l[i] = e.o
	}
	w.o.Set("resources", l)
	return value.MarshalIndent(w.o)
}

// readRetained returns nil when there is no list.
func (k *Stack) readRetained(ctx context.Context) (*Retained, ETag, error) {
	key := k.key(retainedName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	var r *Retained
	if err == nil {
		r, err = parseRetained(key, body)
	}
	if err != nil {
		return nil, Absent, fmt.Errorf("read what stack %s in %s kept: %w", k.Name, k.Region, err)
	}
	return r, etag, nil
}

// Retain brings the list of kept resources up to date at the end of a deploy:
// it adds what the deploy kept and drops what the record names again. there is
// what Presence says of the list. Nothing changes: nothing is written.
func (k *Stack) Retain(ctx context.Context, there bool, kept []Kept, r *Record) error {
	if !there && len(kept) == 0 {
		return nil
	}
	list, etag, err := k.readRetained(ctx)
	if err != nil {
		return err
	}
	if list == nil {
		list = &Retained{}
	}
	before := len(list.Resources)
	list.Resources = slices.DeleteFunc(list.Resources, func(o Kept) bool { return r.names(o.ResourceType, o.PhysicalID) })
	if len(list.Resources) == before && len(kept) == 0 {
		return nil
	}
	return k.keep(ctx, list, etag, kept)
}

// RetainLast writes the list when the stack's record is gone: what was kept is
// added, or else there is at least an empty list, because that one says so.
func (k *Stack) RetainLast(ctx context.Context, kept []Kept) error {
	if len(kept) == 0 {
		return k.tombstone(ctx)
	}
	err := k.keep(ctx, &Retained{}, unseen, kept) // mostly there is none to read
	if !isConflict(err) && !errors.Is(err, errUnsupported) {
		return err
	}
	list, etag, err := k.readRetained(ctx)
	if err != nil {
		return err
	}
	if list == nil {
		list = &Retained{}
	}
	return k.keep(ctx, list, etag, kept)
}

// RetainNothing empties the list, when the resources of the stack are handed
// over to somebody else.
func (k *Stack) RetainNothing(ctx context.Context) error {
	body, _, err := k.store.get(ctx, k.key(retainedName))
	switch {
	case errors.Is(err, errAbsent):
		return k.tombstone(ctx)
	case err != nil:
		return k.retaining(err)
	}
	list, err := parseRetained(k.key(retainedName), body)
	if err != nil {
		return k.retaining(err)
	}
	if len(list.Resources) == 0 {
		return nil
	}
	body, err = (&Retained{}).marshal()
	if err == nil {
		_, err = k.store.put(ctx, k.key(retainedName), body, typeJSON, always)
	}
	return k.retaining(err)
}

func (k *Stack) retaining(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write down what stack %s in %s kept: %w", k.Name, k.Region, err)
}

// tombstone writes an empty list if there is none.
func (k *Stack) tombstone(ctx context.Context) error {
	body, err := (&Retained{}).marshal()
	if err == nil {
		_, err = k.store.put(ctx, k.key(retainedName), body, typeJSON, when(Absent))
	}
	if isConflict(err) {
		return nil
	}
	return k.retaining(err)
}

// keep writes the list with more in it. When they were kept is told by the
// store's clock, which also tells when resources were made; the run's may be
// off.
func (k *Stack) keep(ctx context.Context, list *Retained, etag ETag, kept []Kept) error {
	key := k.key(retainedName)
	write := func(at time.Time) error {
		for _, n := range kept {
			n.KeptAt = at.UnixMilli()
			if i := slices.IndexFunc(list.Resources, n.same); i >= 0 {
				n.read = list.Resources[i].read
				list.Resources[i] = n
			} else {
				list.Resources = append(list.Resources, n)
			}
		}
		body, err := list.marshal()
		if err != nil {
			return err
		}
		written, err := k.store.persist(ctx, key, body, etag)
		if errors.Is(err, errUnsupported) && etag != unseen {
			written, err = k.store.persist(ctx, key, body, Legacy) // the lock alone guards it here
		}
		etag = written
		return err
	}
	now := time.Now()
	if err := write(now); err != nil || len(kept) == 0 {
		return k.retaining(err)
	}
	out, err := k.store.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &k.store.bucket, Key: &key})
	if err != nil {
		k.store.warn(fmt.Sprintf("when stack %s in %s kept its resources is only known by this machine's clock: %v",
			k.Name, k.Region, k.store.failed("look at", key, "s3:GetObject", Absent, err)))
		return nil
	}
	at := aws.ToTime(out.LastModified)
	if off := now.Sub(at); at.IsZero() || off < time.Second && off > -time.Second {
		return nil
	}
	return k.retaining(write(at))
}

// names tells whether a row is a resource.
func (r *Record) names(typ, physicalID string) bool {
	if r == nil {
		return false
	}
	for _, row := range r.Resources {
		if row.ResourceType == typ && SameResource(typ, row.PhysicalID, physicalID) {
			return true
		}
	}
	return false
}
