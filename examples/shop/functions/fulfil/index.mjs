import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';

const dynamodb = new DynamoDBClient();
const sfn = new SFNClient();

// Stores each order of the batch and starts its shipping. The whole batch is
// tried again when one fails: the key makes storing an order twice harmless.
export const handler = async ({ Records }) => {
  for (const { body } of Records) {
    const order = JSON.parse(body);
    await dynamodb.send(new PutItemCommand({
      TableName: process.env.ORDERS_TABLE,
      Item: {
        customer: { S: order.customer },
        placedAt: { S: order.placedAt },
        body: { S: body },
      },
    }));
    await sfn.send(new StartExecutionCommand({
      stateMachineArn: process.env.SHIPPING,
      input: JSON.stringify({ order }),
    }));
  }
};
