// An app made with the CDK library that looks up one thing of each kind, and
// puts what came of it into outputs.
const { App, CfnOutput, Fn, Stack, aws_ec2: ec2, aws_elasticloadbalancingv2: elb, aws_kms: kms, aws_route53: route53, aws_ssm: ssm } = require('aws-cdk-lib');

const app = new App();
const stack = new Stack(app, 'Lookups', { env: { account: process.env.CDK_DEFAULT_ACCOUNT, region: process.env.CDK_DEFAULT_REGION } });
const out = (id, value) => new CfnOutput(stack, id, { value: Array.isArray(value) ? value.join(',') : value });

const vpc = ec2.Vpc.fromLookup(stack, 'Vpc', { tags: { Name: 'shop' } });
out('VpcId', vpc.vpcId);
out('Public', vpc.publicSubnets.map((s) => s.subnetId));
out('Isolated', vpc.isolatedSubnets.map((s) => s.subnetId));
out('RouteTables', vpc.publicSubnets.map((s) => s.routeTable.routeTableId));
out('Zones', stack.availabilityZones);
out('Parameter', ssm.StringParameter.valueFromLookup(stack, '/p'));
out('Absent', ssm.StringParameter.valueFromLookup(stack, '/absent', 'by default'));
out('HostedZone', route53.HostedZone.fromLookup(stack, 'Zone', { domainName: 'example.com' }).hostedZoneId);
out('Key', kms.Key.fromLookup(stack, 'TheKey', { aliasName: 'alias/app' }).keyId);
out('Image', ec2.MachineImage.lookup({ name: 'amzn*' }).getImage(stack).imageId);
// This asks with the id of the network, which the first round does not know.
out('Group', ec2.SecurityGroup.fromLookupByName(stack, 'TheGroup', 'web', vpc).securityGroupId);
const listener = elb.ApplicationListener.fromLookup(stack, 'TheListener', { loadBalancerTags: { app: 'shop' }, listenerPort: 80 });
out('Listener', listener.listenerArn);
out('ListenerGroups', listener.connections.securityGroups.map((g) => g.securityGroupId));
out('Balancer', elb.ApplicationLoadBalancer.fromLookup(stack, 'TheBalancer', { loadBalancerTags: { app: 'shop' } }).loadBalancerDnsName);

app.synth();
