//go:build unix

package synth_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// modules is where the CDK library is installed: where CDK_MODULES says, or by
// npm ci in the example.
func modules(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("CDK_MODULES")
	if folder == "" {
		folder = "../../examples/shop/node_modules"
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "aws-cdk-lib")); err != nil {
		t.Skip("needs the CDK library: npm ci in examples/shop, or its node_modules elsewhere in CDK_MODULES")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node")
	}
	return folder
}

// TestTheLibraryTakesOurAnswers runs a real CDK app against an emulated
// account, so that the shape of each answer is judged by who reads it.
func TestTheLibraryTakesOurAnswers(t *testing.T) {
	folder := modules(t)
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server: pip install 'moto[server]'")
	}
	s, err := sandbox.Start(t.Context(), sandbox.Options{Region: "eu-west-1", Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := populate(t, s.Config())

	script, err := filepath.Abs("testdata/library.js")
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t, script)
	r.Environ = append(r.Environ, "NODE_PATH="+folder)
	r.Region = "eu-west-1"
	r.Account = func(context.Context) (string, error) { return "123456789012", nil }
	r.Config = func(_, region string) aws.Config {
		cfg := s.Config()
		cfg.Region = region
		return cfg
	}
	result := r.succeed(t)
	a, err := assembly.Read(result.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.CheckContext(); err != nil {
		t.Error(err)
	}
	written, err := value.ParseObject([]byte(r.read(t, "cdk.out/Lookups.template.json")))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, output := range written.Object("Outputs").All() {
		got[name] = output.(*value.Object).String("Value")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s\nwarnings: %q", diff, r.warnings)
	}
	// With what was kept, the app asks nothing.
	r.Config = func(_, _ string) aws.Config {
		t.Error("it looks up again what is in cdk.context.json")
		return s.Config()
	}
	if again := r.succeed(t); again.Saved != nil {
		t.Errorf("saved again: %v", again.Saved)
	}
}

// must is for calls that set the scene.
func must[T any](out T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// populate makes what the app looks for, and returns the outputs that it is to
// have.
func populate(t *testing.T, cfg aws.Config) map[string]string {
	t.Helper()
	ctx, client := t.Context(), ec2.NewFromConfig(cfg)
	named := func(typ ec2types.ResourceType, key, v string) []ec2types.TagSpecification {
		return []ec2types.TagSpecification{{ResourceType: typ, Tags: []ec2types.Tag{{Key: &key, Value: &v}}}}
	}
	vpc := must(client.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), TagSpecifications: named("vpc", "Name", "shop")}))(t).Vpc.VpcId
	subnet := func(zone, block, group string) string {
		return *must(client.CreateSubnet(ctx, &ec2.CreateSubnetInput{
			VpcId: vpc, AvailabilityZone: &zone, CidrBlock: &block, TagSpecifications: named("subnet", "aws-cdk:subnet-name", group),
		}))(t).Subnet.SubnetId
	}
	b, a, db := subnet("eu-west-1b", "10.0.1.0/24", "web"), subnet("eu-west-1a", "10.0.2.0/24", "web"), subnet("eu-west-1a", "10.0.3.0/24", "db")
	igw := must(client.CreateInternetGateway(ctx, &ec2.CreateInternetGatewayInput{}))(t).InternetGateway.InternetGatewayId
	must(client.AttachInternetGateway(ctx, &ec2.AttachInternetGatewayInput{VpcId: vpc, InternetGatewayId: igw}))(t)
	table := must(client.CreateRouteTable(ctx, &ec2.CreateRouteTableInput{VpcId: vpc}))(t).RouteTable.RouteTableId
	must(client.CreateRoute(ctx, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: igw}))(t)
	for _, id := range []string{a, b} {
		must(client.AssociateRouteTable(ctx, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: &id}))(t)
	}
	group := must(client.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("d"), VpcId: vpc}))(t).GroupId

	must(ssm.NewFromConfig(cfg).PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/p"), Value: aws.String("v"), Type: ssmtypes.ParameterTypeString}))(t)
	zone := must(route53.NewFromConfig(cfg).CreateHostedZone(ctx, &route53.CreateHostedZoneInput{Name: aws.String("example.com"), CallerReference: aws.String("r")}))(t)
	keys := kms.NewFromConfig(cfg)
	key := must(keys.CreateKey(ctx, &kms.CreateKeyInput{}))(t).KeyMetadata.KeyId
	must(keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: aws.String("alias/app"), TargetKeyId: key}))(t)
	balancers := elb.NewFromConfig(cfg)
	lb := must(balancers.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("lb"), Subnets: []string{a, b}, SecurityGroups: []string{*group}, Tags: []elbtypes.Tag{{Key: aws.String("app"), Value: aws.String("shop")}},
	}))(t).LoadBalancers[0]
	listener := must(balancers.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumFixedResponse, FixedResponseConfig: &elbtypes.FixedResponseActionConfig{StatusCode: aws.String("200")}}},
	}))(t).Listeners[0]
	var newest ec2types.Image
	for _, i := range must(client.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("name"), Values: []string{"amzn*"}}}}))(t).Images {
		if aws.ToString(i.CreationDate)+*i.ImageId > aws.ToString(newest.CreationDate)+aws.ToString(newest.ImageId) {
			newest = i
		}
	}
	return map[string]string{
		"VpcId": *vpc, "Public": a + "," + b, "Isolated": db, "RouteTables": *table + "," + *table,
		"Zones": "eu-west-1a,eu-west-1b,eu-west-1c", "Parameter": "v", "Absent": "by default",
		"HostedZone": (*zone.HostedZone.Id)[len("/hostedzone/"):], "Key": *key, "Image": *newest.ImageId, "Group": *group,
		"Listener": *listener.ListenerArn, "ListenerGroups": *group, "Balancer": *lb.DNSName,
	}
}
