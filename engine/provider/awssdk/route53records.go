package awssdk

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// record is what is in a change; the rest of the properties is around it.
var record = provider.Bind[types.ResourceRecordSet](
	provider.Custom("ResourceRecords", func(v any) ([]types.ResourceRecord, error) {
		all, ok := v.([]any)
		if !ok {
			all = []any{v} // one may stand alone
		}
		var out []types.ResourceRecord
		for _, v := range all {
			s, _ := value.Text(v)
			out = append(out, types.ResourceRecord{Value: &s})
		}
		return out, nil
	}),
	provider.Finish(func(*provider.Request, *types.ResourceRecordSet) error { return nil }, "Comment", "HostedZoneId", "HostedZoneName"))

// A record set is known as zone|name|type. Changes are not awaited until all
// servers have them.
func recordSet() provider.Resource {
	return provider.Resource{
		Type:      "AWS::Route53::RecordSet",
		Inputs:    []provider.Input{record},
		Updates:   []provider.Input{record},
		Exclusive: [][]string{{"AliasTarget", "ResourceRecords"}, {"HostedZoneId", "HostedZoneName"}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			zone, err := recordZone(ctx, r)
			if err != nil {
				return provider.Created{}, err
			}
			wanted, err := record.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			if err := changeRecords(ctx, r, zone, types.Change{Action: types.ChangeActionCreate, ResourceRecordSet: wanted}); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: recordID(zone, wanted)}, nil
		},
		Update: updateRecord,
		Delete: func(ctx context.Context, r *provider.Request) error {
			zone, _, _ := strings.Cut(r.PhysicalID, "|")
			live, err := liveRecord(ctx, r, zone, r.Properties)
			if err != nil {
				return err
			}
			return changeRecords(ctx, r, zone, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: live})
		},
		Gone: zoneGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			zone, err := recordZone(ctx, r)
			if err != nil {
				return "", err
			}
			wanted, err := record.Input(r)
			if err != nil {
				return "", err
			}
			live, err := liveRecord(ctx, r, zone, r.Properties)
			if err != nil || !sameRecord(live, wanted) {
				return "", nil
			}
			return recordID(zone, wanted), nil
		},
		Read: readRecord,
	}
}

func recordID(zone string, rs *types.ResourceRecordSet) string {
	return zone + "|" + aws.ToString(rs.Name) + "|" + string(rs.Type)
}

// recordZone is the id of the zone, which may be named instead.
func recordZone(ctx context.Context, r *provider.Request) (string, error) {
	if id := text(r.Properties, "HostedZoneId"); id != "" {
		return lastSegment(id, "/"), nil
	}
	name := text(r.Properties, "HostedZoneName")
	zones, err := zonesNamed(ctx, r, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for the zone %s of %s: %w", name, r.LogicalID, err)
	case len(zones) == 0:
		return "", fmt.Errorf("%s (%s): there is no hosted zone %s", r.LogicalID, r.Type, name)
	case len(zones) > 1:
		return "", fmt.Errorf("%s (%s): there are %d hosted zones %s; name one by HostedZoneId", r.LogicalID, r.Type, len(zones), name)
	}
	return zoneID(&zones[0]), nil
}

// changeRecords sends changes with those of other records, unless a comment
// is to go with them.
func changeRecords(ctx context.Context, r *provider.Request, zone string, changes ...types.Change) error {
	comment := text(r.Properties, "Comment")
	if comment == "" {
		return provider.OnceClient(r.Session, newRecordChanges).change(ctx, zone, changes...)
	}
	_, err := route53Once(r.Session).ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: changes, Comment: &comment},
	})
	return err
}

// updateRecord writes the set over. A set of another type or identifier is
// another one, which takes the place of the old one in the same change.
func updateRecord(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	zone, _, _ := strings.Cut(r.PhysicalID, "|")
	wanted, err := record.Input(r)
	if err != nil {
		return provider.Updated{}, err
	}
	changes := []types.Change{{Action: types.ChangeActionUpsert, ResourceRecordSet: wanted}}
	if d.Changed("Type", "SetIdentifier") {
		old, err := liveRecord(ctx, r, zone, r.Previous)
		switch {
		case err == nil:
			changes = append([]types.Change{{Action: types.ChangeActionDelete, ResourceRecordSet: old}}, changes...)
		case err != provider.ErrNotFound:
			return provider.Updated{}, err
		}
	}
	if err := changeRecords(ctx, r, zone, changes...); err != nil {
		return provider.Updated{}, err
	}
	return provider.Updated{PhysicalID: recordID(zone, wanted)}, nil
}

// liveRecord reads the set that the properties name: a delete must give all
// that is in it.
func liveRecord(ctx context.Context, r *provider.Request, zone string, props *value.Object) (*types.ResourceRecordSet, error) {
	name, identifier := text(props, "Name"), text(props, "SetIdentifier")
	in := &route53.ListResourceRecordSetsInput{
		HostedZoneId: &zone, StartRecordName: &name, StartRecordType: types.RRType(text(props, "Type")), MaxItems: aws.Int32(100),
	}
	if identifier != "" {
		in.StartRecordIdentifier = &identifier
	}
	out, err := route53Client(r.Session).ListResourceRecordSets(ctx, in)
	if provider.HasCode(err, zoneGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	for _, rs := range out.ResourceRecordSets {
		if sameName(aws.ToString(rs.Name), name) && string(rs.Type) == text(props, "Type") && aws.ToString(rs.SetIdentifier) == identifier {
			return &rs, nil
		}
	}
	return nil, provider.ErrNotFound
}

// sameRecord tells whether two sets say the same.
func sameRecord(a, b *types.ResourceRecordSet) bool {
	normal := func(rs types.ResourceRecordSet) types.ResourceRecordSet {
		rs.Name = aws.String(plainName(aws.ToString(rs.Name)))
		if rs.AliasTarget != nil {
			alias := *rs.AliasTarget
			alias.DNSName = aws.String(plainName(aws.ToString(alias.DNSName)))
			rs.AliasTarget = &alias
		}
		rs.ResourceRecords = slices.SortedFunc(slices.Values(rs.ResourceRecords), func(a, b types.ResourceRecord) int {
			return strings.Compare(aws.ToString(a.Value), aws.ToString(b.Value))
		})
		return rs
	}
	return reflect.DeepEqual(normal(*a), normal(*b))
}

func readRecord(ctx context.Context, r *provider.Request) (*value.Object, error) {
	parts := strings.Split(r.PhysicalID, "|")
	if len(parts) != 3 {
		return nil, fmt.Errorf("read %s (%s): %s is not zone|name|type", r.LogicalID, r.Type, r.PhysicalID)
	}
	live, err := liveRecord(ctx, r, parts[0], value.NewObject("Name", parts[1], "Type", parts[2], "SetIdentifier", text(r.Properties, "SetIdentifier")))
	if err != nil {
		return nil, err
	}
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(live, shape)
	if props.Has("TTL") {
		props.Set("TTL", text(props, "TTL")) // text in a template
	}
	if len(live.ResourceRecords) == 0 {
		props.Delete("ResourceRecords")
	}
	props.Set("Name", asDeclared(r, "Name", aws.ToString(live.Name)))
	for _, zone := range []string{"HostedZoneId", "HostedZoneName"} {
		if r.Properties.Has(zone) {
			props.Set(zone, text(r.Properties, zone))
		}
	}
	if !r.Properties.Has("HostedZoneName") && !r.Properties.Has("HostedZoneId") {
		props.Set("HostedZoneId", parts[0])
	}
	if alias := props.Object("AliasTarget"); alias != nil {
		if declared := text(r.Properties.Object("AliasTarget"), "DNSName"); sameName(declared, text(alias, "DNSName")) {
			alias.Set("DNSName", declared)
		}
	}
	return props, nil
}
