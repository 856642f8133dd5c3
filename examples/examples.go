// Package examples holds the cloud assemblies of the example apps, for the demo
// and the tests.
package examples

import "embed"

// Shop is the order shop: shop/cdk.out is its first deploy, shop/cdk.out.changed
// changes two properties, shop/cdk.out.broken cannot be deployed.
//
//go:embed all:shop/cdk.out all:shop/cdk.out.changed all:shop/cdk.out.broken
var Shop embed.FS
