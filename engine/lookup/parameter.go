package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/value"
)

// parameter reads an SSM parameter, never decrypted: the value ends up in a
// file that is committed.
func parameter(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	name, err := required(props, "parameterName")
	if err != nil {
		return nil, err
	}
	out, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	if _, none := errors.AsType[*types.ParameterNotFound](err); none {
		return nil, &NotFoundError{fmt.Sprintf("SSM parameter %s in %s", name, cfg.Region)}
	}
	if err != nil {
		return nil, err
	}
	if out.Parameter == nil || out.Parameter.Value == nil {
		return nil, &NotFoundError{fmt.Sprintf("value of the SSM parameter %s in %s", name, cfg.Region)}
	}
	return aws.ToString(out.Parameter.Value), nil
}
