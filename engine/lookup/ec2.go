package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/value"
)

// filters turns an object of a question into filters, one a member.
func filters(o *value.Object) []types.Filter {
	var all []types.Filter
	for name, v := range o.All() {
		all = append(all, filter(name, texts(v)...))
	}
	return all
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func zones(ctx context.Context, cfg aws.Config, _ *value.Object) (any, error) {
	out, err := ec2.NewFromConfig(cfg).DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, zone := range out.AvailabilityZones {
		if zone.State == types.AvailabilityZoneStateAvailable {
			names = append(names, aws.ToString(zone.ZoneName))
		}
	}
	slices.Sort(names)
	return names, nil
}

func endpointServiceZones(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	service, err := required(props, "serviceName")
	if err != nil {
		return nil, err
	}
	out, err := ec2.NewFromConfig(cfg).DescribeVpcEndpointServices(ctx, &ec2.DescribeVpcEndpointServicesInput{ServiceNames: []string{service}})
	if err != nil {
		return nil, err
	}
	for _, d := range out.ServiceDetails {
		if aws.ToString(d.ServiceName) == service && len(d.AvailabilityZones) > 0 {
			return slices.Sorted(slices.Values(d.AvailabilityZones)), nil
		}
	}
	return nil, &NotFoundError{fmt.Sprintf("endpoint service %s with availability zones", service)}
}

// image finds the newest of the images that match. Dates are written so that
// they sort as text.
func image(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	pages := ec2.NewDescribeImagesPaginator(ec2.NewFromConfig(cfg), &ec2.DescribeImagesInput{
		Owners: texts(props.Value("owners")), Filters: filters(props.Object("filters")),
	})
	var found []types.Image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range page.Images {
			if i.ImageId != nil && i.CreationDate != nil {
				found = append(found, i)
			}
		}
	}
	if len(found) == 0 {
		return nil, &NotFoundError{fmt.Sprintf("image that matches %s", value.JSON(props.Object("filters")))}
	}
	newest := slices.MaxFunc(found, func(a, b types.Image) int {
		return cmp.Or(strings.Compare(*a.CreationDate, *b.CreationDate), strings.Compare(*a.ImageId, *b.ImageId))
	})
	return *newest.ImageId, nil
}

func securityGroup(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	id, name, vpc := props.String("securityGroupId"), props.String("securityGroupName"), props.String("vpcId")
	if id == "" && name == "" {
		return nil, errors.New("the question has neither securityGroupId nor securityGroupName")
	}
	in, what := &ec2.DescribeSecurityGroupsInput{}, "security group"
	for _, by := range []struct{ filter, value string }{{"group-id", id}, {"group-name", name}, {"vpc-id", vpc}} {
		if by.value != "" {
			in.Filters = append(in.Filters, filter(by.filter, by.value))
			what += " " + by.value
		}
	}
	out, err := ec2.NewFromConfig(cfg).DescribeSecurityGroups(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(out.SecurityGroups) == 0 {
		return nil, &NotFoundError{what}
	}
	group := out.SecurityGroups[0]
	all := slices.ContainsFunc(group.IpPermissionsEgress, func(p types.IpPermission) bool {
		return aws.ToString(p.IpProtocol) == "-1" &&
			slices.ContainsFunc(p.IpRanges, func(r types.IpRange) bool { return aws.ToString(r.CidrIp) == "0.0.0.0/0" })
	})
	return value.NewObject("securityGroupId", aws.ToString(group.GroupId), "allowAllOutbound", all), nil
}
