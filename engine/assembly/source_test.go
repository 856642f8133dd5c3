package assembly_test

import (
	"testing"

	"github.com/org/cdkd-action/engine/assembly"
)

func TestSource(t *testing.T) {
	a := read(t, map[string]string{
		"manifest.json": `{"version": "36.0.0", "artifacts": {"S": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region",
			"properties": {"templateFile": "t.json"}, "additionalMetadataFile": "m.json",
			"metadata": {
				"/S/Old/Resource": [{"type": "aws:cdk:logicalId", "data": "Old", "trace": ["new CfnBucket (/home/me/app/node_modules/aws-cdk-lib/aws-s3/lib/s3.js:1:2)", "new Shop (/home/me/my app/lib/shop.ts:12:5)"]}],
				"/S/Strange": [{"type": "aws:cdk:creationStack", "data": {"a": 1}}, {"type": "aws:cdk:logicalId", "data": "Strange", "trace": [1, "x", "new Y (z)", "new Y (z:0)"]}]}}}}`,
		"t.json": empty,
		"m.json": `{
			"/S/New/Resource": [{"type": "aws:cdk:creationStack", "data": ["...new Function2 in aws-cdk-lib...", "new Orders (file:///home/me/app/lib/orders.ts:50:20)", "<anonymous> (/home/me/app/bin/shop.ts:11:1)"]}],
			"/S/Loose/Resource": [{"type": "aws:cdk:creationStack", "data": ["node:internal/modules:1:1", "at /home/me/app/bin/shop.mjs:3:1"]}],
			"/S/Python/Resource": [{"type": "aws:cdk:creationStack", "data": ["__init__ (/app/.venv/lib/site-packages/jsii/x.py:1)", "__init__ (/app/app.py:7)"]}]}`,
	})
	for path, want := range map[string]assembly.Source{
		"S/Old/Resource":     {File: "/home/me/my app/lib/shop.ts", Line: 12},
		"/S/New/Resource":    {File: "/home/me/app/lib/orders.ts", Line: 50},
		"S/New/Resource/Sub": {File: "/home/me/app/lib/orders.ts", Line: 50},
		"S/Loose/Resource":   {File: "/home/me/app/bin/shop.mjs", Line: 3},
		"S/Python/Resource":  {File: "/app/app.py", Line: 7},
		"S/Strange":          {},
		"S/Nobody/Made/This": {},
		"":                   {},
	} {
		if got := a.Stack("S", "", "").Source(path); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}
