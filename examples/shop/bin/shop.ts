import { App } from 'aws-cdk-lib';
import { OrdersStack } from '../lib/orders-stack';
import { StorageStack } from '../lib/storage-stack';
import { variantOf } from '../lib/variant';

// Neither stack names an account or region: the assembly is deployed to
// whichever account the workflow's credentials belong to.
const app = new App({ treeMetadata: false });

const storage = new StorageStack(app, 'ShopStorage');
new OrdersStack(app, 'ShopOrders', { storage, variant: variantOf(app) });
