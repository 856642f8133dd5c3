// The apps that are measured: the shapes that people deploy, each as small as it
// can be and still have the shape. README.md says how to synthesize them.
import { App, Duration, NestedStack, RemovalPolicy, Stack, StackProps } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import * as integrations from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import * as cloudfront from 'aws-cdk-lib/aws-cloudfront';
import * as origins from 'aws-cdk-lib/aws-cloudfront-origins';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecs from 'aws-cdk-lib/aws-ecs';
import * as elb from 'aws-cdk-lib/aws-elasticloadbalancingv2';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as subscriptions from 'aws-cdk-lib/aws-sns-subscriptions';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';

const handler = 'exports.handler = async () => ({ statusCode: 200 });';

function functionOf(scope: Construct, id: string, environment: Record<string, string>) {
  return new lambda.Function(scope, id, {
    runtime: lambda.Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: lambda.Code.fromInline(handler),
    environment,
    logGroup: new logs.LogGroup(scope, `${id}Logs`, { retention: logs.RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY }),
  });
}

function network(scope: Construct, natGateways: number) {
  return new ec2.Vpc(scope, 'Vpc', { maxAzs: 2, natGateways, restrictDefaultSecurityGroup: false });
}

/** An HTTP API, two functions, a table, and a queue that a topic feeds. */
class Serverless extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const table = new dynamodb.Table(this, 'Orders', {
      partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const topic = new sns.Topic(this, 'Placed');
    const queue = new sqs.Queue(this, 'Queue', { visibilityTimeout: Duration.minutes(1) });
    topic.addSubscription(new subscriptions.SqsSubscription(queue));
    const place = functionOf(this, 'Place', { TABLE: table.tableName, TOPIC: topic.topicArn });
    table.grantWriteData(place);
    topic.grantPublish(place);
    const fulfil = functionOf(this, 'Fulfil', { TABLE: table.tableName });
    table.grantReadWriteData(fulfil);
    fulfil.addEventSourceMapping('FromQueue', { eventSourceArn: queue.queueArn });
    queue.grantConsumeMessages(fulfil);
    const api = new apigateway.HttpApi(this, 'Api');
    api.addRoutes({ path: '/orders', methods: [apigateway.HttpMethod.POST], integration: new integrations.HttpLambdaIntegration('ToPlace', place) });
  }
}

/** A network, a load balancer, and what it leads to. */
class WebApp extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const vpc = network(this, 1);
    const balancer = new elb.ApplicationLoadBalancer(this, 'Balancer', { vpc, internetFacing: true });
    const group = new elb.ApplicationTargetGroup(this, 'Targets', { vpc, port: 80, protocol: elb.ApplicationProtocol.HTTP, targetType: elb.TargetType.IP });
    balancer.addListener('Http', { port: 80, defaultTargetGroups: [group] });
    new s3.Bucket(this, 'Uploads', { removalPolicy: RemovalPolicy.DESTROY, encryption: s3.BucketEncryption.S3_MANAGED });
    new ssm.StringParameter(this, 'Address', { stringValue: balancer.loadBalancerDnsName });
  }
}

/** A service of containers, with its roles and logs. */
class Containers extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const vpc = network(this, 0);
    const cluster = new ecs.Cluster(this, 'Cluster', { vpc });
    const task = new ecs.FargateTaskDefinition(this, 'Task');
    task.addContainer('Web', {
      image: ecs.ContainerImage.fromRegistry('public.ecr.aws/nginx/nginx:stable'),
      portMappings: [{ containerPort: 80 }],
      logging: ecs.LogDriver.awsLogs({
        streamPrefix: 'web',
        logGroup: new logs.LogGroup(this, 'Logs', { retention: logs.RetentionDays.ONE_WEEK, removalPolicy: RemovalPolicy.DESTROY }),
      }),
    });
    new ecs.FargateService(this, 'Service', { cluster, taskDefinition: task, desiredCount: 1, assignPublicIp: true });
  }
}

/** A network with a machine in it. */
class Machine extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const vpc = network(this, 0);
    new ec2.Instance(this, 'Machine', {
      vpc,
      vpcSubnets: { subnetType: ec2.SubnetType.PUBLIC },
      instanceType: ec2.InstanceType.of(ec2.InstanceClass.T4G, ec2.InstanceSize.MICRO),
      machineImage: ec2.MachineImage.genericLinux({ 'us-east-1': 'ami-0c55b159cbfafe1f0' }),
    });
  }
}

/** A bucket behind a distribution. */
class Site extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const bucket = new s3.Bucket(this, 'Pages', { removalPolicy: RemovalPolicy.DESTROY });
    new cloudfront.Distribution(this, 'Site', {
      defaultBehavior: { origin: origins.S3BucketOrigin.withOriginAccessControl(bucket) },
      defaultRootObject: 'index.html',
    });
  }
}

/** Fifty nested stacks of one queue each. */
class Nested extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    for (let i = 1; i <= 50; i++) {
      const nested = new NestedStack(this, `Part${i}`);
      new sqs.Queue(nested, 'Queue');
    }
  }
}

const shapes: Record<string, new (scope: Construct, id: string, props?: StackProps) => Stack> = {
  serverless: Serverless, webapp: WebApp, ecs: Containers, ec2: Machine, cloudfront: Site, nested: Nested,
};

const app = new App({ analyticsReporting: false });
const shape = app.node.getContext('shape') as string;
new shapes[shape](app, 'Measured', { env: { region: 'us-east-1' } });
