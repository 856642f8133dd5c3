package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// updateTable changes a table in steps: UpdateTable takes one kind of change a
// call, one index created or deleted a call, and nothing while it is busy with
// the one before. The driver waits for the last step.
func updateTable(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	steps, err := tableSteps(r, d)
	if err != nil {
		return provider.Updated{}, err
	}
	var out provider.Updated
	for i, in := range steps {
		if i > 0 {
			if err := tableActive.Wait(ctx, r); err != nil {
				return out, err
			}
		}
		var answer *dynamodb.UpdateTableOutput
		err := whenSettled(ctx, r, tableActive, tableBusy, func() (err error) {
			answer, err = dynamoClient(r.Session).UpdateTable(ctx, in)
			return err
		})
		if err != nil {
			return out, err
		}
		if stream := streamARN(answer.TableDescription); stream != nil {
			out.Attributes = stream
		}
	}
	if !d.Changed("ResourcePolicy") {
		return out, nil
	}
	table := aws.String(arn(r, "dynamodb", "table/"+r.PhysicalID))
	if policy := document(r.Properties.Object("ResourcePolicy"), "PolicyDocument"); policy != "" {
		_, err = dynamoClient(r.Session).PutResourcePolicy(ctx, &dynamodb.PutResourcePolicyInput{ResourceArn: table, Policy: &policy})
	} else {
		_, err = dynamoClient(r.Session).DeleteResourcePolicy(ctx, &dynamodb.DeleteResourcePolicyInput{ResourceArn: table})
	}
	return out, err
}

// tableSteps plans the calls of an update.
func tableSteps(r *provider.Request, d provider.Diff) ([]*dynamodb.UpdateTableInput, error) {
	want, err := updateTableInput.Input(r)
	if err != nil {
		return nil, err
	}
	was, now := indexes(r.Previous), indexes(r.Properties)
	var steps []*dynamodb.UpdateTableInput
	add := func(in dynamodb.UpdateTableInput) {
		in.TableName = &r.PhysicalID
		steps = append(steps, &in)
	}

	// An index that is deleted need not be given the capacity that a change to
	// provisioned billing asks for.
	for name, old := range was.All() {
		if next, ok := now.Get(name); !ok || rebuilt(old, next) {
			add(dynamodb.UpdateTableInput{GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
				{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String(name)}},
			}})
		}
	}

	capacity := dynamodb.UpdateTableInput{}
	if d.Changed("BillingMode") {
		capacity.BillingMode = want.BillingMode
	}
	if d.Changed("ProvisionedThroughput", "BillingMode") && want.BillingMode != types.BillingModePayPerRequest {
		capacity.ProvisionedThroughput = want.ProvisionedThroughput
	}
	if d.Changed("OnDemandThroughput") {
		capacity.OnDemandThroughput = want.OnDemandThroughput
	}
	if d.Changed("WarmThroughput") {
		capacity.WarmThroughput = want.WarmThroughput
	}
	for name, next := range now.All() {
		old, ok := was.Get(name)
		if !ok || rebuilt(old, next) || value.Equal(old, next) && !d.Changed("BillingMode") {
			continue
		}
		u, err := indexCapacity(next)
		if err != nil {
			return nil, err
		}
		if u.ProvisionedThroughput != nil || u.OnDemandThroughput != nil || u.WarmThroughput != nil {
			capacity.GlobalSecondaryIndexUpdates = append(capacity.GlobalSecondaryIndexUpdates, types.GlobalSecondaryIndexUpdate{Update: &u})
		}
	}
	if capacity.BillingMode != "" || capacity.ProvisionedThroughput != nil || capacity.OnDemandThroughput != nil ||
		capacity.WarmThroughput != nil || capacity.GlobalSecondaryIndexUpdates != nil {
		add(capacity)
	}

	if d.Changed("StreamSpecification") {
		// Another view type needs another stream.
		if r.Previous.Has("StreamSpecification") {
			add(dynamodb.UpdateTableInput{StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
		}
		if s := want.StreamSpecification; s != nil {
			s.StreamEnabled = aws.Bool(true)
			add(dynamodb.UpdateTableInput{StreamSpecification: s})
		}
	}
	if d.Changed("SSESpecification") {
		add(dynamodb.UpdateTableInput{SSESpecification: want.SSESpecification})
	}
	if d.Changed("TableClass") {
		add(dynamodb.UpdateTableInput{TableClass: want.TableClass})
	}
	if d.Changed("DeletionProtectionEnabled") {
		add(dynamodb.UpdateTableInput{DeletionProtectionEnabled: want.DeletionProtectionEnabled})
	}

	for name, next := range now.All() {
		if old, ok := was.Get(name); ok && !rebuilt(old, next) {
			continue
		}
		create, err := newIndex(next)
		if err != nil {
			return nil, err
		}
		add(dynamodb.UpdateTableInput{
			AttributeDefinitions:        want.AttributeDefinitions,
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &create}},
		})
	}
	return steps, nil
}

var (
	indexCapacity = provider.Shape[types.UpdateGlobalSecondaryIndexAction](asIs)
	newIndex      = provider.Shape[types.CreateGlobalSecondaryIndexAction](asIs)
)

// indexes returns the global secondary indexes by name.
func indexes(props *value.Object) *value.Object {
	out := &value.Object{}
	for _, v := range props.List("GlobalSecondaryIndexes") {
		if o, ok := v.(*value.Object); ok {
			out.Set(text(o, "IndexName"), o)
		}
	}
	return out
}

// rebuilt tells whether an index has to be made anew: what it indexes and what
// it holds never change.
func rebuilt(old, new any) bool {
	a, _ := old.(*value.Object)
	b, _ := new.(*value.Object)
	return !value.Equal(a.Value("KeySchema"), b.Value("KeySchema")) || !value.Equal(a.Value("Projection"), b.Value("Projection"))
}
