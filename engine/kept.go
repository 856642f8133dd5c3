package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A keptError is a delete that AWS refused, with how to take away what keeps the
// resource.
type keptError struct {
	remedy string
	err    error
}

func (e *keptError) Error() string  { return e.err.Error() }
func (e *keptError) Unwrap() error  { return e.err }
func (e *keptError) Remedy() string { return e.remedy }

// holders are what keeps a resource from being deleted, by the codes that services
// answer with.
var holders = []struct {
	codes  []string
	remedy string
}{
	{[]string{"BucketNotEmpty"}, "empty the bucket, its earlier versions too (Empty, in the console of S3)"},
	{[]string{"RepositoryNotEmptyException"}, "delete the images in it, or the repository with them (aws ecr delete-repository --force)"},
	{[]string{"HostedZoneNotEmpty"}, "delete the zone's records, but for NS and SOA"},
	{[]string{"DependencyViolation", "DeleteConflict", "DeleteConflictException", "ResourceInUse", "ResourceInUseException", "ResourceInUseFault", "InUseException"},
		"something that is not the stack's uses it: take that away"},
}

// whyKept says of a delete that failed what can be done, where that can be told and
// nobody said it. Services answer a delete of what is protected in as many ways as
// there are, so that goes by what is recorded.
func (d *deployment) whyKept(row *state.Resource, err error) error {
	if err == nil || Remedy(err) != "" || d.ending(err) != err {
		return err
	}
	if !d.unprotect && protected(row.Properties) && d.unprotects(row.ResourceType) {
		return &keptError{"it is recorded as protected from being deleted: switch that off, as remove-protection does before the delete", err}
	}
	for _, h := range holders {
		if provider.HasCode(err, h.codes...) {
			return &keptError{h.remedy, err}
		}
	}
	return err
}

// protected tells whether a resource is recorded as one that may not be deleted:
// by a property of its own, or an entry of a list of attributes, as load balancers
// have them.
func protected(properties *value.Object) bool {
	for name, v := range properties.All() {
		if protects(name) && switched(v) {
			return true
		}
		list, _ := v.([]any)
		for _, entry := range list {
			o, _ := entry.(*value.Object)
			if o != nil && protects(o.String("Key")) && switched(o.Value("Value")) {
				return true
			}
		}
	}
	return false
}

func protects(name string) bool {
	name = strings.ToLower(strings.NewReplacer(".", "", "_", "").Replace(name))
	return slices.ContainsFunc([]string{"deletionprotect", "deleteprotect", "terminationprotect", "disableapitermination"}, func(part string) bool {
		return strings.HasPrefix(name, part)
	})
}

// switched tells whether a protection is on: true, or a word or mode that is none
// for off.
func switched(v any) bool {
	if o, ok := v.(*value.Object); ok {
		v = o.Value("Mode")
	}
	text, _ := value.Text(v)
	return !slices.Contains([]string{"", "false", "inactive", "disabled", "none"}, strings.ToLower(text))
}

// leftOver reports what a destroy could not delete.
func (d *deployment) leftOver(f result.Failure) {
	remedy := cmp.Or(f.Remedy, "take away what keeps it")
	remedy += ", and destroy again"
	if f.Action == plan.Delete && !strings.Contains(f.LogicalID, "/") {
		remedy += fmt.Sprintf("; or leave it in AWS: cdkd-action state orphan %s --stack-region %s --resource %s --yes", d.t.Name, d.t.Region, f.LogicalID)
	}
	d.unaddressed(f.LogicalID, f.Type, f.PhysicalID, f.Message, remedy)
}
