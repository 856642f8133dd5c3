package customresource

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/org/cdkd-action/engine/provider"
)

// recycle makes a function start with new credentials, which it gets when its
// configuration changes: its description is changed for a while. It does what
// it can; a failure is a notice. The function returned puts the description
// back, and may be called once.
func recycle(ctx context.Context, r *provider.Request, function string) (restore func()) {
	failed := func(err error) func() {
		notice(r, fmt.Sprintf("%s (%s): its handler could not be recycled: %v", r.LogicalID, r.Type, err))
		return func() {}
	}
	now, err := functions(r).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	if err != nil {
		return failed(err)
	}
	description := aws.ToString(now.Description)
	describe := func(ctx context.Context, text string) error {
		_, err := functions(r).UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{FunctionName: &function, Description: &text})
		return err
	}
	// A blank more or less is a change, and still reads well if it stays.
	changed := description + " "
	if len(changed) > 256 || strings.HasSuffix(description, " ") {
		changed = strings.TrimRight(description, " ")
	}
	if err := describe(ctx, changed); err != nil {
		return failed(err)
	}
	limited, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	if err := ready(limited, r, function); err != nil {
		notice(r, fmt.Sprintf("%s (%s): its handler is not back yet: %v", r.LogicalID, r.Type, err))
	}
	return func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if err := describe(ctx, description); err != nil {
			notice(r, fmt.Sprintf("%s (%s): the description of its handler could not be put back: %v", r.LogicalID, r.Type, err))
		}
	}
}
