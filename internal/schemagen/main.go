// Command schemagen writes the resource schemas that engine/schema embeds.
//
//	go run ./internal/schemagen CFN_LINT SERVICE_SPEC OUT
//
// CFN_LINT is the data/schemas folder of the Python package cfn-lint (MIT-0),
// SERVICE_SPEC the db.json.gz of the npm package @aws-cdk/aws-service-spec
// (Apache-2.0), OUT the archive to write:
//
//	pip download --no-deps cfn-lint==1.51.0 && unzip -q cfn_lint-*.whl -d lint
//	npm pack @aws-cdk/aws-service-spec@0.1.216 && tar xzf aws-cdk-aws-service-spec-*.tgz
//	go run ./internal/schemagen lint/cfnlint/data/schemas package/db.json.gz engine/schema/schemas.zip
//
// Both sources are made from the schemas that AWS publishes. cfn-lint has them
// whole but for descriptions and handlers, so it wins where both know a type;
// of its regions us-east-1 wins, the others add what they alone have. The
// service specification adds younger types, the attributes that are documented
// but not in a schema, and the types whose Ref is not the primary identifier.
//
// Neither source says which types Cloud Control can manage; see provisionable.
// The same input gives the same bytes, so an update shows in review as the
// versions above and NOTICE, and the tests of engine/schema say what it broke.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/org/cdkd-action/internal/schemafile"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: schemagen CFN_LINT SERVICE_SPEC OUT")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func generate(lintFolder, specFile, out string) error {
	lint, err := readLint(lintFolder)
	if err != nil {
		return err
	}
	spec, err := readSpec(specFile)
	if err != nil {
		return err
	}
	types := merge(lint, spec)
	var b bytes.Buffer
	if err := schemafile.Write(&b, types); err != nil {
		return err
	}
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return err
	}
	refused := 0
	for _, t := range types {
		if t.NotProvisionable {
			refused++
		}
	}
	fmt.Printf("%d types (%d from cfn-lint, %d known to the service specification), %d not provisionable, %d bytes\n",
		len(types), len(lint), len(spec), refused, b.Len())
	return nil
}
