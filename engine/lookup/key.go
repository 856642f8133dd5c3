package lookup

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/org/cdkd-action/engine/value"
)

// key finds a KMS key by its alias. The list is read, as the CDK does, because
// reading the key by alias needs a permission on the key itself.
func key(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	alias, err := required(props, "aliasName")
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(alias, "alias/") {
		alias = "alias/" + alias
	}
	for pages := kms.NewListAliasesPaginator(kms.NewFromConfig(cfg), &kms.ListAliasesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Aliases {
			if aws.ToString(a.AliasName) == alias && a.TargetKeyId != nil {
				return value.NewObject("keyId", *a.TargetKeyId), nil
			}
		}
	}
	return nil, &NotFoundError{"KMS key with the alias " + alias}
}
