package lookup_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/lookup"
	"github.com/org/cdkd-action/internal/sandbox"
)

// must is for calls that set a scene.
func must[T any](out T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// account starts an emulated account.
func account(t *testing.T) (*sandbox.Sandbox, aws.Config, *lookup.Source) {
	t.Helper()
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server: pip install 'moto[server]'")
	}
	s, err := sandbox.Start(t.Context(), sandbox.Options{Region: "eu-west-1", Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := s.Config()
	cfg.HTTPClient = at(s.URL).Config("", "").HTTPClient
	return s, cfg, &lookup.Source{Region: cfg.Region, Config: func(_, region string) aws.Config {
		c := cfg.Copy()
		c.Region = region
		return c
	}}
}

// network is a VPC with subnets of each kind.
type network struct {
	vpc, gateway string
	subnets      map[string]string // by name
	tables       map[string]string
}

// build makes it: two public subnets of which one is known by its route and one
// by its tag, a private and an isolated one, and one that has no name.
func build(t *testing.T, client *ec2.Client) network {
	ctx := t.Context()
	n := network{subnets: map[string]string{}, tables: map[string]string{}}
	n.vpc = *must(client.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         aws.String("10.0.0.0/16"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVpc, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("shop")}}}},
	}))(t).Vpc.VpcId
	igw := must(client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{}))(t).InternetGateway.InternetGatewayId
	must(client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{VpcId: &n.vpc, InternetGatewayId: igw}))(t)
	subnet := func(name, zone, block string, tags ...string) {
		in := &ec2.CreateSubnetInput{VpcId: &n.vpc, AvailabilityZone: aws.String("eu-west-1" + zone), CidrBlock: &block}
		for i := 0; i < len(tags); i += 2 {
			if in.TagSpecifications == nil {
				in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSubnet}}
			}
			in.TagSpecifications[0].Tags = append(in.TagSpecifications[0].Tags, types.Tag{Key: &tags[i], Value: &tags[i+1]})
		}
		n.subnets[name] = *must(client.CreateSubnet(ctx, in))(t).Subnet.SubnetId
	}
	table := func(name string, route *ec2.CreateRouteInput, of ...string) {
		id := must(client.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: &n.vpc}))(t).RouteTable.RouteTableId
		route.RouteTableId, route.DestinationCidrBlock = id, aws.String("0.0.0.0/0")
		must(client.CreateRoute(ctx, route))(t)
		n.tables[name] = *id
		for _, s := range of {
			must(client.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: id, SubnetId: aws.String(n.subnets[s])}))(t)
		}
	}
	subnet("web-b", "b", "10.0.1.0/24", "aws-cdk:subnet-name", "web")
	subnet("web-a", "a", "10.0.2.0/24", "aws-cdk:subnet-name", "web", "aws-cdk:subnet-type", "Public")
	// Its name says something else than its routes, which are right.
	subnet("app-a", "a", "10.0.3.0/24", "aws-cdk:subnet-name", "public-app")
	subnet("unnamed", "a", "10.0.4.0/24")
	subnet("db-c", "c", "10.0.5.0/24", "aws-cdk:subnet-name", "db", "aws-cdk:subnet-type", "Deprecated_Isolated")
	table("web", &ec2.CreateRouteInput{GatewayId: igw}, "web-b")
	nat := must(client.CreateNatGateway(ctx, &ec2.CreateNatGatewayInput{SubnetId: aws.String(n.subnets["web-b"])}))(t).NatGateway.NatGatewayId
	table("app", &ec2.CreateRouteInput{NatGatewayId: nat}, "app-a")

	mains := must(client.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{
		{Name: aws.String("vpc-id"), Values: []string{n.vpc}}, {Name: aws.String("association.main"), Values: []string{"true"}},
	}}))(t)
	n.tables["main"] = *mains.RouteTables[0].RouteTableId
	vpn := must(client.CreateVpnGateway(ctx, &ec2.CreateVpnGatewayInput{Type: types.GatewayTypeIpsec1}))(t).VpnGateway.VpnGatewayId
	must(client.AttachVpnGateway(ctx, &ec2.AttachVpnGatewayInput{VpcId: &n.vpc, VpnGatewayId: vpn}))(t)
	n.gateway = *vpn
	return n
}

// fill puts the network's ids into a wanted value.
func (n network) fill(text string) string {
	pairs := []string{"{vpc}", n.vpc, "{vpn}", n.gateway}
	for name, id := range n.subnets {
		pairs = append(pairs, "{"+name+"}", id)
	}
	for name, id := range n.tables {
		pairs = append(pairs, "{table "+name+"}", id)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func TestVPC(t *testing.T) {
	_, cfg, source := account(t)
	n := build(t, ec2.NewFromConfig(cfg))
	const flat = `"vpcId":"{vpc}","vpcCidrBlock":"10.0.0.0/16","ownerAccountId":"123456789012","availabilityZones":["eu-west-1a","eu-west-1b","eu-west-1c"],
		"publicSubnetIds":["{web-a}","{web-b}"],"publicSubnetNames":["web","web"],"publicSubnetRouteTableIds":["{table main}","{table web}"],
		"privateSubnetIds":["{app-a}"],"privateSubnetNames":["public-app"],"privateSubnetRouteTableIds":["{table app}"],
		"isolatedSubnetIds":["{unnamed}","{db-c}"],"isolatedSubnetNames":["Isolated","db"],"isolatedSubnetRouteTableIds":["{table main}","{table main}"]`
	for _, q := range []question{
		{"flat lists, without gateways (T-34)", "vpc-provider", `{"filter":{"tag:Name":"shop","isDefault":"false"},"returnVpnGateways":false}`, nil, "{" + flat + "}", ""},
		{"groups with address ranges (T-34, T-35)", "vpc-provider", `{"filter":{"vpc-id":"{vpc}"},"returnAsymmetricSubnets":true}`, nil, "{" + flat + `,"vpnGatewayId":"{vpn}","subnetGroups":[
			{"name":"web","type":"Public","subnets":[
				{"subnetId":"{web-a}","cidr":"10.0.2.0/24","availabilityZone":"eu-west-1a","routeTableId":"{table main}"},
				{"subnetId":"{web-b}","cidr":"10.0.1.0/24","availabilityZone":"eu-west-1b","routeTableId":"{table web}"}]},
			{"name":"public-app","type":"Private","subnets":[{"subnetId":"{app-a}","cidr":"10.0.3.0/24","availabilityZone":"eu-west-1a","routeTableId":"{table app}"}]},
			{"name":"Isolated","type":"Isolated","subnets":[{"subnetId":"{unnamed}","cidr":"10.0.4.0/24","availabilityZone":"eu-west-1a","routeTableId":"{table main}"}]},
			{"name":"db","type":"Isolated","subnets":[{"subnetId":"{db-c}","cidr":"10.0.5.0/24","availabilityZone":"eu-west-1c","routeTableId":"{table main}"}]}]}`, ""},
		{"none (T-34)", "vpc-provider", `{"filter":{"tag:Name":"none"}}`, nil, "", `there is no VPC that matches {"tag:Name":"none"}`},
		{"several (T-34)", "vpc-provider", `{"filter":{"state":"available"}}`, nil, "", "there are 2 of VPC"},
	} {
		q.props, q.want = n.fill(q.props), n.fill(q.want)
		t.Run(q.name, func(t *testing.T) { q.run(t, source) })
	}
}

// TestAccount puts questions of each kind to an emulated account, whose answers
// were not written for it. What is asked for them is what the guide says.
func TestAccount(t *testing.T) {
	s, cfg, source := account(t)
	ctx := t.Context()
	n := build(t, ec2.NewFromConfig(cfg))

	must(ssm.NewFromConfig(cfg).PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/p"), Value: aws.String("v"), Type: ssmtypes.ParameterTypeString}))(t)
	zone := must(route53.NewFromConfig(cfg).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("example.com"), CallerReference: aws.String("r")}))(t)
	must(route53.NewFromConfig(cfg).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{
		Name: aws.String("internal.example"), CallerReference: aws.String("p"), HostedZoneConfig: &r53types.HostedZoneConfig{PrivateZone: true},
		VPC: &r53types.VPC{VPCId: &n.vpc, VPCRegion: r53types.VPCRegionEuWest1},
	}))(t)
	zoneID := strings.TrimPrefix(*zone.HostedZone.Id, "/hostedzone/")
	keys := kms.NewFromConfig(cfg)
	key := *must(keys.CreateKey(ctx, &kms.CreateKeyInput{}))(t).KeyMetadata.KeyId
	must(keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: aws.String("alias/app"), TargetKeyId: &key}))(t)
	group := *must(ec2.NewFromConfig(cfg).CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("d"), VpcId: &n.vpc}))(t).GroupId
	balancers := elb.NewFromConfig(cfg)
	lb := must(balancers.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("lb"), Subnets: []string{n.subnets["web-a"], n.subnets["web-b"]}, SecurityGroups: []string{group},
		Tags: []elbtypes.Tag{{Key: aws.String("app"), Value: aws.String("shop")}},
	}))(t).LoadBalancers[0]
	l := must(balancers.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("200")}}},
	}))(t).Listeners[0]
	must(cloudcontrol.NewFromConfig(cfg).CreateResource(ctx, &cloudcontrol.CreateResourceInput{
		TypeName: aws.String("AWS::Logs::LogGroup"), DesiredState: aws.String(`{"LogGroupName":"g","RetentionInDays":7}`),
	}))(t)
	images := must(ec2.NewFromConfig(cfg).DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("name"), Values: []string{"amzn*"}}}}))(t).Images
	if len(images) == 0 {
		t.Fatal("the emulator has no image that matches amzn*")
	}
	newest := slices.MaxFunc(images, func(a, b types.Image) int {
		return strings.Compare(*a.CreationDate+*a.ImageId, *b.CreationDate+*b.ImageId)
	})

	asked := map[string]map[string]bool{}
	for _, q := range []question{
		{"hosted zone of another VPC (T-33)", "hosted-zone", `{"domainName":"internal.example","privateZone":true,"vpcId":"vpc-other"}`, nil, "", "there is no hosted zone internal.example. of vpc-other"},
		{"VPC (T-34)", "vpc-provider", `{"filter":{"tag:Name":"none"}}`, nil, "", "there is no VPC"},
		{"the VPC (T-34)", "vpc-provider", fmt.Sprintf(`{"filter":{"vpc-id":%q},"subnetGroupNameTag":"none"}`, n.vpc), nil, n.fill(`{"vpcId":"{vpc}","vpcCidrBlock":"10.0.0.0/16","ownerAccountId":"123456789012",
			"availabilityZones":["eu-west-1a","eu-west-1b","eu-west-1c"],"vpnGatewayId":"{vpn}",
			"publicSubnetIds":["{web-a}","{web-b}"],"publicSubnetNames":["Public","Public"],"publicSubnetRouteTableIds":["{table main}","{table web}"],
			"privateSubnetIds":["{app-a}"],"privateSubnetNames":["Private"],"privateSubnetRouteTableIds":["{table app}"],
			"isolatedSubnetIds":["{unnamed}","{db-c}"],"isolatedSubnetNames":["Isolated","Isolated"],"isolatedSubnetRouteTableIds":["{table main}","{table main}"]}`), ""},
		{"zones (T-30)", "availability-zones", `{"region":"eu-central-1"}`, nil, `["eu-central-1a","eu-central-1b","eu-central-1c"]`, ""},
		{"parameter (T-31)", "ssm", `{"parameterName":"/p"}`, nil, `"v"`, ""},
		{"no parameter (T-32)", "ssm", `{"parameterName":"/none","ignoreErrorOnMissingContext":true,"dummyValue":"d"}`, nil, `"d"`, ""},
		{"hosted zone (T-33)", "hosted-zone", `{"domainName":"example.com"}`, nil, fmt.Sprintf(`{"Id":%q,"Name":"example.com."}`, zoneID), ""},
		{"image (T-36)", "ami", `{"filters":{"name":["amzn*"]}}`, nil, fmt.Sprintf("%q", *newest.ImageId), ""},
		{"security group (T-37)", "security-group", fmt.Sprintf(`{"securityGroupId":%q}`, group), nil, fmt.Sprintf(`{"securityGroupId":%q,"allowAllOutbound":true}`, group), ""},
		{"load balancer (T-38)", "load-balancer", `{"loadBalancerType":"application","loadBalancerTags":[{"key":"app","value":"shop"}]}`, nil,
			fmt.Sprintf(`{"loadBalancerArn":%q,"loadBalancerCanonicalHostedZoneId":%q,"loadBalancerDnsName":%q,"vpcId":%q,"securityGroupIds":[%q],"ipAddressType":"ipv4"}`,
				*lb.LoadBalancerArn, *lb.CanonicalHostedZoneId, *lb.DNSName, n.vpc, group), ""},
		{"listener (T-40)", "load-balancer-listener", `{"loadBalancerType":"application","loadBalancerTags":[{"key":"app","value":"shop"}],"listenerPort":80}`, nil,
			fmt.Sprintf(`{"listenerArn":%q,"listenerPort":80,"securityGroupIds":[%q]}`, *l.ListenerArn, group), ""},
		{"key (T-41)", "key-provider", `{"aliasName":"app"}`, nil, fmt.Sprintf(`{"keyId":%q}`, key), ""},
		{"resource (T-42)", "cc-api-provider", `{"typeName":"AWS::Logs::LogGroup","exactIdentifier":"g","propertiesToReturn":["RetentionInDays"]}`, nil, `[{"Identifier":"g","RetentionInDays":7}]`, ""},
		{"no resource (T-42)", "cc-api-provider", `{"typeName":"AWS::Logs::LogGroup","exactIdentifier":"none","propertiesToReturn":["RetentionInDays"]}`, nil, "", "there is no AWS::Logs::LogGroup none"},
		{"resources (T-42)", "cc-api-provider", `{"typeName":"AWS::Logs::LogGroup","propertyMatch":{"RetentionInDays":7},"propertiesToReturn":["LogGroupName"]}`, nil, `[{"Identifier":"g","LogGroupName":"g"}]`, ""},
		{"endpoint service (T-44)", "endpoint-service-availability-zones", `{"serviceName":"com.amazonaws.eu-west-1.sqs"}`, nil, `["eu-west-1a","eu-west-1b","eu-west-1c"]`, ""},
	} {
		s.ClearLog()
		t.Run(q.name, func(t *testing.T) { q.run(t, source) })
		if asked[q.provider] == nil {
			asked[q.provider] = map[string]bool{}
		}
		for _, r := range s.Log() {
			asked[q.provider][permission(r)] = true
		}
	}

	guide, err := os.ReadFile("../../docs/apps.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(guide)) {
		if row := strings.Split(line, " | "); len(row) == 2 && strings.HasPrefix(row[0], "| `") {
			want = append(want, strings.Trim(row[0], "| `")+": "+strings.ReplaceAll(strings.Trim(row[1], "| `\n"), "`", ""))
		}
	}
	var got []string
	for _, provider := range slices.Sorted(maps.Keys(asked)) {
		got = append(got, provider+": "+strings.Join(slices.Sorted(maps.Keys(asked[provider])), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what docs/apps.md says (-) is not what is asked (+)\n%s", diff)
	}
}

// permission is the IAM action that a request needs.
func permission(r sandbox.Request) string {
	service, action := r.Service, r.Action
	switch {
	case service == "cloudcontrolapi":
		service = "cloudformation"
	case strings.Contains(action, "/hostedzonesbyname"):
		action = "ListHostedZonesByName"
	case strings.Contains(action, "/hostedzone/"):
		action = "GetHostedZone"
	}
	return service + ":" + action
}
