package awssdk

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/org/cdkd-action/engine/provider"
)

func TestHostedZone(t *testing.T) {
	s := emulated(t)
	c := route53.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
		if err != nil {
			return nil, err
		}
		m := map[string]string{"comment": aws.ToString(out.HostedZone.Config.Comment)}
		tags, err := c.ListTagsForResource(ctx, &route53.ListTagsForResourceInput{ResourceId: &id, ResourceType: types.TagResourceTypeHostedzone})
		if err != nil {
			return nil, err
		}
		for _, tag := range tags.ResourceTagSet.Tags {
			m["tag:"+*tag.Key] = *tag.Value
		}
		return m, nil
	}
	life{
		typ: "AWS::Route53::HostedZone",
		steps: []step{
			{"create", `{"Name": "shop.example.com", "HostedZoneConfig": {"Comment": "a"}, "HostedZoneTags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"comment": "a", "tag:a": "1"}},
			{"change", `{"Name": "shop.example.com", "HostedZoneConfig": {"Comment": "b"}, "HostedZoneTags": [{"Key": "b", "Value": "1"}]}`, seen,
				map[string]string{"comment": "b", "tag:b": "1"}},
			{"removed", `{"Name": "shop.example.com"}`, seen, map[string]string{"comment": ""}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
			return err
		},
	}.run(t, s)
}

func TestPrivateHostedZone(t *testing.T) {
	s := emulated(t)
	c := route53.NewFromConfig(s.Config)
	a, b := newNetwork(t, s, "10.30.0.0/16").vpc, newNetwork(t, s, "10.31.0.0/16").vpc
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &id})
		if err != nil {
			return nil, err
		}
		var vpcs []string
		for _, v := range out.VPCs {
			vpcs = append(vpcs, *v.VPCId)
		}
		slices.Sort(vpcs)
		return vpcs, nil
	}
	in := func(vpcs ...string) string {
		s := `{"Name": "private.example.com.", "VPCs": [`
		for i, v := range vpcs {
			if i > 0 {
				s += ", "
			}
			s += `{"VPCId": "` + v + `", "VPCRegion": "eu-west-1"}`
		}
		return s + `]}`
	}
	both := []string{a, b}
	slices.Sort(both)
	life{
		typ: "AWS::Route53::HostedZone", owner: t.Name(),
		steps: []step{
			{"create", in(a), seen, []string{a}},
			{"another VPC", in(a, b), seen, both},
			{"one less", in(b), seen, []string{b}},
		},
	}.run(t, s)
}

func newZone(t *testing.T, s *provider.Session, name string) string {
	t.Helper()
	out, err := route53.NewFromConfig(s.Config).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: &name, CallerReference: &name})
	if err != nil {
		t.Fatal(err)
	}
	return zoneID(out.HostedZone)
}

func TestRecordSet(t *testing.T) {
	s := emulated(t)
	c := route53.NewFromConfig(s.Config)
	zone := newZone(t, s, "records.example.com")
	seen := func(ctx context.Context, _ string) (any, error) {
		out, err := c.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
		if err != nil {
			return nil, err
		}
		var sets []string
		for _, rs := range out.ResourceRecordSets {
			if rs.Type == types.RRTypeNs || rs.Type == types.RRTypeSoa {
				continue
			}
			line := string(rs.Type) + " " + *rs.Name
			for _, v := range rs.ResourceRecords {
				line += " " + *v.Value
			}
			if rs.AliasTarget != nil {
				line += " " + *rs.AliasTarget.DNSName
			}
			sets = append(sets, line)
		}
		return sets, nil
	}
	fixed := `"HostedZoneId": "` + zone + `", "Name": "www.records.example.com"`
	life{
		typ: "AWS::Route53::RecordSet", id: zone + "|www.records.example.com|A",
		steps: []step{
			{"create", `{` + fixed + `, "Type": "A", "TTL": "300", "ResourceRecords": ["10.0.0.1", "10.0.0.2"], "Comment": "c"}`, seen,
				[]string{"A www.records.example.com. 10.0.0.1 10.0.0.2"}},
			{"other values", `{` + fixed + `, "Type": "A", "TTL": "60", "ResourceRecords": ["10.0.0.3"]}`, seen, []string{"A www.records.example.com. 10.0.0.3"}},
			{"an alias", `{` + fixed + `, "Type": "A", "AliasTarget": {"DNSName": "d111111abcdef8.cloudfront.net", "HostedZoneId": "Z2FDTNDATAQYW2", "EvaluateTargetHealth": false}}`,
				seen, []string{"A www.records.example.com. d111111abcdef8.cloudfront.net"}},
		},
		gone: func(ctx context.Context, id string) error {
			if got, err := seen(ctx, id); err != nil || len(got.([]string)) > 0 {
				return err
			}
			return provider.ErrNotFound
		},
		noRead: true, // a comment is of the change
	}.run(t, s)
}

func TestReadRecordSet(t *testing.T) {
	s := emulated(t)
	newZone(t, s, "named.example.com")
	life{
		typ: "AWS::Route53::RecordSet",
		steps: []step{{name: "create", props: `{"HostedZoneName": "named.example.com.", "Name": "*.named.example.com", "Type": "CNAME", "TTL": "300",
			"ResourceRecords": ["www.example.com"]}`}},
	}.run(t, s)
}

// Another type takes the place of the old one in the same change.
func TestRecordSetOfAnotherType(t *testing.T) {
	s := emulated(t)
	c := route53.NewFromConfig(s.Config)
	zone := newZone(t, s, "types.example.com")
	d := provider.Drive(describe(t, "AWS::Route53::RecordSet"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "R", Type: "AWS::Route53::RecordSet",
		Properties: object(t, `{"HostedZoneId": "`+zone+`", "Name": "a.types.example.com", "Type": "CNAME", "TTL": "1", "ResourceRecords": ["b.example.com"]}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	old := r.Properties
	r.PhysicalID, r.Previous = made.PhysicalID, old
	r.Properties = object(t, `{"HostedZoneId": "`+zone+`", "Name": "a.types.example.com", "Type": "A", "TTL": "1", "ResourceRecords": ["10.0.0.1"]}`)
	updated, err := d.Update(t.Context(), r)
	if err != nil || updated.PhysicalID != zone+"|a.types.example.com|A" {
		t.Fatalf("%+v, %v", updated, err)
	}
	// The old self, deleted as what was replaced, is gone already.
	r.Properties = old
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
	out, err := c.ListResourceRecordSets(t.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone, StartRecordName: aws.String("a.types.example.com"), StartRecordType: "A"})
	if err != nil || len(out.ResourceRecordSets) != 1 {
		t.Errorf("%+v, %v, want the new record", out, err)
	}
}

func TestRecordSetWithoutItsZone(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::Route53::RecordSet"), nil)
	_, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "R", Type: "AWS::Route53::RecordSet",
		Properties: object(t, `{"HostedZoneName": "nobody.example.com.", "Name": "a.nobody.example.com", "Type": "A", "ResourceRecords": ["10.0.0.1"]}`)})
	if err == nil || err.Error() != "R (AWS::Route53::RecordSet): there is no hosted zone nobody.example.com." {
		t.Errorf("%v", err)
	}
}
