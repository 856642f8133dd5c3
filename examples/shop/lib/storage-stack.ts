import { CfnOutput, RemovalPolicy, Stack, StackProps } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as sns from 'aws-cdk-lib/aws-sns';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';

/** What outlives an order: the orders, their receipts, and who hears of them. */
export class StorageStack extends Stack {
  readonly orders: dynamodb.ITable;
  readonly receipts: s3.IBucket;
  readonly placed: sns.ITopic;
  readonly mode: ssm.IStringParameter;

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);

    // A real shop would keep both; an example leaves nothing behind.
    this.orders = new dynamodb.Table(this, 'Orders', {
      partitionKey: { name: 'customer', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'placedAt', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.receipts = new s3.Bucket(this, 'Receipts', {
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      encryption: s3.BucketEncryption.S3_MANAGED,
      removalPolicy: RemovalPolicy.DESTROY,
    });

    this.placed = new sns.Topic(this, 'Placed', { displayName: 'Orders placed' });

    this.mode = new ssm.StringParameter(this, 'CheckoutMode', {
      parameterName: '/shop/checkout-mode',
      description: 'How the shop takes payment',
      stringValue: 'invoice',
    });

    new CfnOutput(this, 'OrdersTable', { value: this.orders.tableName });
    new CfnOutput(this, 'ReceiptsBucket', { value: this.receipts.bucketName });
  }
}
