import * as path from 'node:path';
import { CfnOutput, Duration, RemovalPolicy, Stack, StackProps } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sources from 'aws-cdk-lib/aws-lambda-event-sources';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as schedulerTargets from 'aws-cdk-lib/aws-scheduler-targets';
import * as subscriptions from 'aws-cdk-lib/aws-sns-subscriptions';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import * as tasks from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { StorageStack } from './storage-stack';
import { Variant } from './variant';

export interface OrdersStackProps extends StackProps {
  readonly variant: Variant;
  readonly storage: StorageStack;
}

/** An order's way: topic, queue, function, and a state machine that ships it. */
export class OrdersStack extends Stack {
  constructor(scope: Construct, id: string, props: OrdersStackProps) {
    super(scope, id, props);
    const { storage, variant } = props;

    const deadLetters = new sqs.Queue(this, 'DeadLetters', {
      retentionPeriod: Duration.days(14),
    });
    const queue = new sqs.Queue(this, 'Queue', {
      visibilityTimeout: Duration.seconds(variant === 'first' ? 60 : 180),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: 3 },
    });
    storage.placed.addSubscription(new subscriptions.SqsSubscription(queue, { rawMessageDelivery: true }));

    const shipping = new sfn.StateMachine(this, 'Shipping', {
      definitionBody: sfn.DefinitionBody.fromChainable(
        new sfn.Wait(this, 'Pack', { time: sfn.WaitTime.duration(Duration.minutes(5)) })
          .next(new tasks.SnsPublish(this, 'Announce', {
            topic: storage.placed,
            message: sfn.TaskInput.fromJsonPathAt('$.order'),
          })),
      ),
      timeout: Duration.hours(1),
    });

    const fulfil = new lambda.Function(this, 'Fulfil', {
      description: 'Stores an order and starts its shipping',
      runtime: lambda.Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: lambda.Code.fromAsset(path.join(__dirname, '../functions/fulfil')),
      timeout: Duration.seconds(30),
      logGroup: new logs.LogGroup(this, 'FulfilLogs', {
        retention: logs.RetentionDays.ONE_MONTH,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      environment: {
        ORDERS_TABLE: storage.orders.tableName,
        RECEIPTS_BUCKET: storage.receipts.bucketName,
        CHECKOUT_MODE: storage.mode.parameterName,
        SHIPPING: shipping.stateMachineArn,
      },
    });
    fulfil.addEventSource(new sources.SqsEventSource(queue, { batchSize: 10 }));
    storage.orders.grantWriteData(fulfil);
    storage.receipts.grantPut(fulfil);
    storage.mode.grantRead(fulfil);
    shipping.grantStartExecution(fulfil);

    const report = new lambda.Function(this, 'Report', {
      description: 'Says once a day that the shop is open',
      runtime: lambda.Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: lambda.Code.fromInline("exports.handler = async () => console.log('open');"),
    });
    new scheduler.Schedule(this, 'Daily', {
      schedule: scheduler.ScheduleExpression.cron({ hour: '6', minute: '0' }),
      target: new schedulerTargets.LambdaInvoke(report),
    });
    new events.Rule(this, 'Refunds', {
      description: 'Refunds come back as orders',
      eventPattern: { source: ['shop.payments'], detailType: ['Refund'] },
      targets: [new targets.SqsQueue(queue)],
    });

    new cloudwatch.Alarm(this, 'Stuck', {
      alarmDescription: 'Orders that could not be fulfilled',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible(),
      threshold: { first: 1, changed: 5, broken: 10 }[variant],
      evaluationPeriods: 1,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
    });

    if (variant === 'broken') {
      this.addReturns();
    }

    new CfnOutput(this, 'QueueUrl', { value: queue.queueUrl });
    new CfnOutput(this, 'ShippingArn', { value: shipping.stateMachineArn });
  }

  /**
   * SQS holds a long poll for 20 seconds at most. CDK refuses more in its own
   * property, but only warns of one set behind its back: SQS refuses it, after
   * the dead-letter queue has been made.
   */
  private addReturns(): void {
    const deadLetters = new sqs.Queue(this, 'ReturnsDeadLetters');
    const returns = new sqs.Queue(this, 'Returns', {
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: 3 },
    });
    (returns.node.defaultChild as sqs.CfnQueue).receiveMessageWaitTimeSeconds = 90;
  }
}
