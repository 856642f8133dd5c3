package schema

import (
	"fmt"

	"github.com/org/cdkd-action/internal/schemafile"
)

// Parse reads a type from the schema that CloudFormation's DescribeType
// returns, for types that Lookup does not find. Whether Cloud Control can
// manage it is not in the schema but beside it, as ProvisioningType.
func Parse(typeName string, body []byte, provisionable bool) (*Type, error) {
	r, err := schemafile.ParseRegistry(body)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", typeName, err)
	}
	f := r.Type()
	f.NotProvisionable = !provisionable
	return newType(typeName, f), nil
}
