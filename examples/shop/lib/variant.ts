import { App } from 'aws-cdk-lib';

/**
 * Which version of the shop to synthesize.
 *
 * - `first`: what is deployed first.
 * - `changed`: two ordinary changes, made in place.
 * - `broken`: after those, one that AWS refuses once others have been made.
 */
export type Variant = 'first' | 'changed' | 'broken';

export function variantOf(app: App): Variant {
  const variant = app.node.tryGetContext('variant') ?? 'first';
  if (variant !== 'first' && variant !== 'changed' && variant !== 'broken') {
    throw new Error(`variant is ${variant}: want first, changed or broken`);
  }
  return variant;
}
