package awssdk

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/uuid"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func route53Client(s *provider.Session) *route53.Client {
	return provider.Client(s, route53.NewFromConfig)
}

func route53Once(s *provider.Session) *route53.Client {
	return provider.OnceClient(s, route53.NewFromConfig)
}

func route53Resources() []provider.Resource { return []provider.Resource{hostedZone(), recordSet()} }

var zoneGone = []string{"NoSuchHostedZone"}

var (
	createZoneInput = provider.Bind[route53.CreateHostedZoneInput](
		provider.Only("Name", "HostedZoneConfig"),
		provider.Finish(func(r *provider.Request, in *route53.CreateHostedZoneInput) error {
			in.CallerReference = aws.String(cmp.Or(r.Token, uuid.NewString()))
			if vpcs := zoneVPCs(r.Properties); len(vpcs) > 0 { // a private zone is made with one
				in.VPC = &vpcs[0]
				if in.HostedZoneConfig == nil {
					in.HostedZoneConfig = &types.HostedZoneConfig{}
				}
				in.HostedZoneConfig.PrivateZone = true
			}
			return nil
		}))
	zoneComment  = provider.Bind[route53.UpdateHostedZoneCommentInput](provider.ID("Id"), provider.Only("HostedZoneConfig"), provider.Rename{"HostedZoneConfig": "."})
	zoneFeatures = provider.Bind[route53.UpdateHostedZoneFeaturesInput](provider.ID("HostedZoneId"), provider.Only("HostedZoneFeatures"), provider.Rename{"HostedZoneFeatures": "."})
	zoneLogging  = provider.Bind[route53.CreateQueryLoggingConfigInput](provider.ID("HostedZoneId"), provider.Only("QueryLoggingConfig"), provider.Rename{"QueryLoggingConfig": "."})
)

// A zone is known by its id. Its caller reference, which no other zone may
// ever have, tells whose create made it.
func hostedZone() provider.Resource {
	return provider.Resource{
		Type:    "AWS::Route53::HostedZone",
		Inputs:  []provider.Input{createZoneInput},
		Updates: []provider.Input{zoneComment},
		Satellites: []provider.Satellite{
			{Properties: []string{"VPCs"}, Put: putZoneVPCs},
			{
				Properties: []string{"HostedZoneFeatures"}, Input: zoneFeatures,
				Put: provider.Call(route53Client, (*route53.Client).UpdateHostedZoneFeatures, zoneFeatures),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := route53Client(r.Session).UpdateHostedZoneFeatures(ctx, &route53.UpdateHostedZoneFeaturesInput{
						HostedZoneId: &r.PhysicalID, EnableAcceleratedRecovery: aws.Bool(false),
					})
					return err
				},
			},
			{
				Properties: []string{"QueryLoggingConfig"}, Input: zoneLogging, Reset: stopQueryLogging,
				Put: func(ctx context.Context, r *provider.Request) error {
					if r.Previous.Has("QueryLoggingConfig") { // a zone has one, which cannot be changed
						if err := stopQueryLogging(ctx, r); err != nil {
							return err
						}
					}
					_, err := provider.Invoke(ctx, r, route53Client, (*route53.Client).CreateQueryLoggingConfig, zoneLogging)
					return err
				},
			},
		},
		Tags: provider.Tags{
			Property: "HostedZoneTags",
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &route53.ChangeTagsForResourceInput{ResourceId: &r.PhysicalID, ResourceType: types.TagResourceTypeHostedzone}
				for k, v := range tags {
					in.AddTags = append(in.AddTags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
				_, err := route53Client(r.Session).ChangeTagsForResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := route53Client(r.Session).ChangeTagsForResource(ctx, &route53.ChangeTagsForResourceInput{
					ResourceId: &r.PhysicalID, ResourceType: types.TagResourceTypeHostedzone, RemoveTagKeys: keys,
				})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, route53Once, (*route53.Client).CreateHostedZone, createZoneInput)
			if err != nil {
				return provider.Created{}, err
			}
			made := provider.Created{PhysicalID: zoneID(out.HostedZone), Attributes: value.NewObject()}
			if out.DelegationSet != nil {
				made.Attributes.Set("NameServers", list(out.DelegationSet.NameServers))
			}
			return made, nil
		},
		Update: updateBy(route53Client, (*route53.Client).UpdateHostedZoneComment, zoneComment),
		Delete: func(ctx context.Context, r *provider.Request) error {
			if r.Properties.Has("QueryLoggingConfig") {
				if err := stopQueryLogging(ctx, r); err != nil {
					return err
				}
			}
			_, err := route53Client(r.Session).DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: &r.PhysicalID})
			return err
		},
		Gone:  zoneGone,
		Known: idAs("Id"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			zones, err := zonesNamed(ctx, r, text(r.Properties, "Name"))
			for _, z := range zones {
				if r.Token != "" && aws.ToString(z.CallerReference) == r.Token {
					return zoneID(&z), nil
				}
			}
			return "", err
		},
		// A create tells the servers; those of a zone that was found or imported,
		// and is public, are asked for.
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("NameServers") || len(zoneVPCs(r.Properties)) > 0 {
				return nil, nil
			}
			out, err := route53Client(r.Session).GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &r.PhysicalID})
			if err != nil || out.DelegationSet == nil {
				return nil, err
			}
			return value.NewObject("NameServers", list(out.DelegationSet.NameServers)), nil
		},
		Read: readZone,
	}
}

func zoneID(z *types.HostedZone) string { return lastSegment(aws.ToString(z.Id), "/") }

func zoneVPCs(o *value.Object) []types.VPC {
	var out []types.VPC
	for _, v := range o.List("VPCs") {
		vpc, _ := v.(*value.Object)
		out = append(out, types.VPC{VPCId: aws.String(text(vpc, "VPCId")), VPCRegion: types.VPCRegion(text(vpc, "VPCRegion"))})
	}
	return out
}

// putZoneVPCs associates before it disassociates, as the last VPC of a zone
// cannot be taken from it. The first one was there when the zone was made.
func putZoneVPCs(ctx context.Context, r *provider.Request) error {
	c := route53Client(r.Session)
	wanted, had := zoneVPCs(r.Properties), zoneVPCs(r.Previous)
	if r.Previous == nil {
		had = wanted[:min(1, len(wanted))]
	}
	has := func(all []types.VPC, v types.VPC) bool {
		return slices.ContainsFunc(all, func(o types.VPC) bool { return *o.VPCId == *v.VPCId && o.VPCRegion == v.VPCRegion })
	}
	for _, v := range wanted {
		if !has(had, v) {
			if _, err := c.AssociateVPCWithHostedZone(ctx, &route53.AssociateVPCWithHostedZoneInput{HostedZoneId: &r.PhysicalID, VPC: &v}); err != nil {
				return err
			}
		}
	}
	for _, v := range had {
		if !has(wanted, v) {
			_, err := c.DisassociateVPCFromHostedZone(ctx, &route53.DisassociateVPCFromHostedZoneInput{HostedZoneId: &r.PhysicalID, VPC: &v})
			if err != nil && !provider.HasCode(err, "VPCAssociationNotFound") {
				return err
			}
		}
	}
	return nil
}

func queryLogging(ctx context.Context, r *provider.Request) ([]types.QueryLoggingConfig, error) {
	out, err := route53Client(r.Session).ListQueryLoggingConfigs(ctx, &route53.ListQueryLoggingConfigsInput{HostedZoneId: &r.PhysicalID})
	if provider.HasCode(err, zoneGone...) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return out.QueryLoggingConfigs, nil
}

func stopQueryLogging(ctx context.Context, r *provider.Request) error {
	configs, err := queryLogging(ctx, r)
	for _, l := range configs {
		_, err := route53Client(r.Session).DeleteQueryLoggingConfig(ctx, &route53.DeleteQueryLoggingConfigInput{Id: l.Id})
		if err != nil && !provider.HasCode(err, "NoSuchQueryLoggingConfig") {
			return err
		}
	}
	return err
}

// zonesNamed lists the zones that have the name.
func zonesNamed(ctx context.Context, r *provider.Request, name string) ([]types.HostedZone, error) {
	out, err := route53Client(r.Session).ListHostedZonesByName(ctx, &route53.ListHostedZonesByNameInput{DNSName: &name})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out.HostedZones, func(z types.HostedZone) bool { return !sameName(aws.ToString(z.Name), name) }), nil
}

// sameName compares domain names, which Route 53 gives in lower case, with a
// dot in the end and a star as a number.
func sameName(a, b string) bool { return plainName(a) == plainName(b) }

func plainName(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.ToLower(name), "."), `\052`, "*")
}

func readZone(ctx context.Context, r *provider.Request) (*value.Object, error) {
	c := route53Client(r.Session)
	out, err := c.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &r.PhysicalID})
	if provider.HasCode(err, zoneGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	props := value.NewObject("Name", asDeclared(r, "Name", aws.ToString(out.HostedZone.Name)))
	if comment := out.HostedZone.Config; comment != nil && aws.ToString(comment.Comment) != "" {
		props.Set("HostedZoneConfig", value.NewObject("Comment", *comment.Comment))
	}
	if f := out.HostedZone.Features; f != nil {
		on := f.AcceleratedRecoveryStatus == types.AcceleratedRecoveryStatusEnabled || f.AcceleratedRecoveryStatus == types.AcceleratedRecoveryStatusEnabling
		props.Set("HostedZoneFeatures", value.NewObject("EnableAcceleratedRecovery", on))
	}
	var vpcs []any
	for _, v := range out.VPCs {
		vpcs = append(vpcs, value.NewObject("VPCId", aws.ToString(v.VPCId), "VPCRegion", string(v.VPCRegion)))
	}
	if len(vpcs) > 0 {
		props.Set("VPCs", vpcs)
	}
	configs, err := queryLogging(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, l := range configs {
		props.Set("QueryLoggingConfig", value.NewObject("CloudWatchLogsLogGroupArn", aws.ToString(l.CloudWatchLogsLogGroupArn)))
	}
	tags, err := c.ListTagsForResource(ctx, &route53.ListTagsForResourceInput{ResourceId: &r.PhysicalID, ResourceType: types.TagResourceTypeHostedzone})
	if err != nil {
		return nil, err
	}
	if tags.ResourceTagSet != nil {
		m := tagMap(tags.ResourceTagSet.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
		if l := tagList(m); len(l) > 0 {
			props.Set("HostedZoneTags", l)
		}
	}
	return props, nil
}

// asDeclared is a name as the properties have it, when it is the same one.
func asDeclared(r *provider.Request, property, live string) string {
	if declared := text(r.Properties, property); sameName(declared, live) {
		return declared
	}
	return live
}
