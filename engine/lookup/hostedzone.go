package lookup

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/org/cdkd-action/engine/value"
)

// zonesAsked is how many zones from the wanted name on are looked at. A domain
// has one public zone and a few private ones.
const zonesAsked = 10

func hostedZone(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	domain, err := required(props, "domainName")
	if err != nil {
		return nil, err
	}
	name, vpc := strings.TrimSuffix(domain, ".")+".", props.String("vpcId")
	wantPrivate, asked := props.Value("privateZone").(bool)
	client := route53.NewFromConfig(cfg)
	// It is a list in the order of names that begins with this one.
	out, err := client.ListHostedZonesByName(ctx, &route53.ListHostedZonesByNameInput{DNSName: &domain, MaxItems: aws.Int32(zonesAsked)})
	if err != nil {
		return nil, err
	}
	var found []types.HostedZone
	for _, zone := range out.HostedZones {
		isPrivate := zone.Config != nil && zone.Config.PrivateZone
		if aws.ToString(zone.Name) != name || asked && isPrivate != wantPrivate {
			continue
		}
		if vpc != "" {
			of, err := client.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: zone.Id})
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(of.VPCs, func(v types.VPC) bool { return aws.ToString(v.VPCId) == vpc }) {
				continue
			}
		}
		found = append(found, zone)
	}
	what := "hosted zone " + name
	if vpc != "" {
		what += " of " + vpc
	}
	zone, err := sole(found, what)
	if err != nil {
		return nil, err
	}
	return value.NewObject("Id", strings.TrimPrefix(aws.ToString(zone.Id), "/hostedzone/"), "Name", name), nil
}
