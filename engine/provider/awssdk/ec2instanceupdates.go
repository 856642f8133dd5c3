package awssdk

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	metadataOptions = provider.Bind[ec2.ModifyInstanceMetadataOptionsInput](provider.ID("InstanceId"),
		provider.Only("MetadataOptions"), provider.Rename{"MetadataOptions": "."})
	privateNames = provider.Bind[ec2.ModifyPrivateDnsNameOptionsInput](provider.ID("InstanceId"), provider.Only("PrivateDnsNameOptions"),
		provider.Rename{"PrivateDnsNameOptions": ".", "PrivateDnsNameOptions.HostnameType": "PrivateDnsHostnameType"})
	placement = provider.Bind[ec2.ModifyInstancePlacementInput](provider.ID("InstanceId"), provider.Only("Affinity", "HostId", "Tenancy"),
		provider.Clear{"Affinity": "default"})
)

func modifyInstance(ctx context.Context, r *provider.Request, in *ec2.ModifyInstanceAttributeInput) error {
	in.InstanceId = &r.PhysicalID
	_, err := ec2Client(r.Session).ModifyInstanceAttribute(ctx, in)
	return err
}

// updateInstance changes one property a call. Some take a stop and a start,
// which they share; an instance that was stopped already stays so.
func updateInstance(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	for _, property := range changedRunning {
		if d.Changed(property) {
			if err := changeRunning(ctx, r, property); err != nil {
				return provider.Updated{}, fmt.Errorf("change %s: %w", property, err)
			}
		}
	}
	if !d.Changed(changedStopped...) {
		return provider.Updated{}, nil
	}
	i, err := describeInstance(ctx, r)
	if err != nil {
		return provider.Updated{}, err
	}
	stopped := instanceState(i) == "stopped"
	if !stopped {
		if err := stopInstance(ctx, r); err != nil {
			return provider.Updated{}, err
		}
	}
	changes := changeStopped(ctx, r, d)
	if !stopped { // also when a change failed: nobody asked for it to stay down
		_, err := ec2Client(r.Session).StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: []string{r.PhysicalID}})
		if changes == nil {
			changes = err
		}
	}
	return provider.Updated{}, changes
}

func changeRunning(ctx context.Context, r *provider.Request, property string) error {
	c := ec2Client(r.Session)
	switch property {
	case "CreditSpecification":
		credits := text(r.Properties.Object(property), "CPUCredits")
		_, err := c.ModifyInstanceCreditSpecification(ctx, &ec2.ModifyInstanceCreditSpecificationInput{
			InstanceCreditSpecifications: []types.InstanceCreditSpecificationRequest{{InstanceId: &r.PhysicalID, CpuCredits: optional(credits)}},
		})
		return err
	case "DisableApiTermination":
		return modifyInstance(ctx, r, &ec2.ModifyInstanceAttributeInput{DisableApiTermination: boxedBool(isTrue(r.Properties, property))})
	case "IamInstanceProfile":
		return changeProfile(ctx, r, text(r.Properties, property))
	case "InstanceInitiatedShutdownBehavior":
		return modifyInstance(ctx, r, &ec2.ModifyInstanceAttributeInput{InstanceInitiatedShutdownBehavior: boxedText(r.Properties, property, "stop")})
	case "MetadataOptions":
		_, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).ModifyInstanceMetadataOptions, metadataOptions)
		return err
	case "Monitoring":
		ids := []string{r.PhysicalID}
		if isTrue(r.Properties, property) {
			_, err := c.MonitorInstances(ctx, &ec2.MonitorInstancesInput{InstanceIds: ids})
			return err
		}
		_, err := c.UnmonitorInstances(ctx, &ec2.UnmonitorInstancesInput{InstanceIds: ids})
		return err
	case "SecurityGroupIds":
		groups := texts(r.Properties, property)
		if len(groups) == 0 {
			return errEmpty(property)
		}
		return modifyInstance(ctx, r, &ec2.ModifyInstanceAttributeInput{Groups: groups})
	}
	return nil
}

func changeStopped(ctx context.Context, r *provider.Request, d provider.Diff) error {
	if d.Changed("Affinity", "HostId", "Tenancy") {
		if _, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).ModifyInstancePlacement, placement); err != nil {
			return err
		}
	}
	if d.Changed("PrivateDnsNameOptions") {
		if _, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).ModifyPrivateDnsNameOptions, privateNames); err != nil {
			return err
		}
	}
	var calls []*ec2.ModifyInstanceAttributeInput
	if d.Changed("InstanceType") {
		calls = append(calls, &ec2.ModifyInstanceAttributeInput{InstanceType: boxedText(r.Properties, "InstanceType", "m1.small")})
	}
	if d.Changed("EbsOptimized") {
		calls = append(calls, &ec2.ModifyInstanceAttributeInput{EbsOptimized: boxedBool(isTrue(r.Properties, "EbsOptimized"))})
	}
	if d.Changed("KernelId") {
		calls = append(calls, &ec2.ModifyInstanceAttributeInput{Kernel: boxedText(r.Properties, "KernelId", "")})
	}
	if d.Changed("RamdiskId") {
		calls = append(calls, &ec2.ModifyInstanceAttributeInput{Ramdisk: boxedText(r.Properties, "RamdiskId", "")})
	}
	if d.Changed("UserData") {
		in, err := userData(r)
		if err != nil {
			return err
		}
		calls = append(calls, in)
	}
	for _, in := range calls {
		if err := modifyInstance(ctx, r, in); err != nil {
			return err
		}
	}
	return nil
}

// userData is encoded in the template, and by the SDK.
func userData(r *provider.Request) (*ec2.ModifyInstanceAttributeInput, error) {
	script, err := base64.StdEncoding.DecodeString(text(r.Properties, "UserData"))
	if err != nil {
		return nil, fmt.Errorf("UserData of %s is not Base64", r.LogicalID) // the cause would quote it
	}
	return &ec2.ModifyInstanceAttributeInput{UserData: &types.SecureBlobAttributeValue{Value: script}}, nil
}

func boxedText(o *value.Object, property, otherwise string) *types.AttributeValue {
	s := text(o, property)
	if s == "" {
		s = otherwise
	}
	return &types.AttributeValue{Value: &s}
}

func stopInstance(ctx context.Context, r *provider.Request) error {
	_, err := ec2Client(r.Session).StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{r.PhysicalID}})
	if err != nil {
		return err
	}
	w := provider.Waiter{
		What: "instance stopped, for a change that it cannot run through", OK: []string{"stopped"}, Failed: []string{"terminated"},
		First: 2 * time.Second, Growth: 1.2, Cap: 5 * time.Second,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			i, err := describeInstance(ctx, r)
			if err != nil {
				return "", "", err
			}
			return instanceState(i), "", nil
		},
	}
	return w.Wait(ctx, r)
}

func associateProfile(ctx context.Context, r *provider.Request, profile string) error {
	_, err := ec2Client(r.Session).AssociateIamInstanceProfile(ctx, &ec2.AssociateIamInstanceProfileInput{
		InstanceId: &r.PhysicalID, IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: &profile},
	})
	return err
}

func changeProfile(ctx context.Context, r *provider.Request, profile string) error {
	c := ec2Client(r.Session)
	out, err := c.DescribeIamInstanceProfileAssociations(ctx, &ec2.DescribeIamInstanceProfileAssociationsInput{
		Filters: []types.Filter{having("instance-id", r.PhysicalID)},
	})
	if err != nil {
		return err
	}
	current := slices.IndexFunc(out.IamInstanceProfileAssociations, func(a types.IamInstanceProfileAssociation) bool {
		return a.State != types.IamInstanceProfileAssociationStateDisassociated && a.State != types.IamInstanceProfileAssociationStateDisassociating
	})
	switch {
	case current < 0 && profile == "":
		return nil
	case current < 0:
		return associateProfile(ctx, r, profile)
	}
	id := out.IamInstanceProfileAssociations[current].AssociationId
	if profile == "" {
		_, err = c.DisassociateIamInstanceProfile(ctx, &ec2.DisassociateIamInstanceProfileInput{AssociationId: id})
		return err
	}
	_, err = c.ReplaceIamInstanceProfileAssociation(ctx, &ec2.ReplaceIamInstanceProfileAssociationInput{
		AssociationId: id, IamInstanceProfile: &types.IamInstanceProfileSpecification{Name: aws.String(profile)},
	})
	return err
}
