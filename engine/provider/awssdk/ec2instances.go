package awssdk

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var instanceGone = []string{"InvalidInstanceID.NotFound"}

// nested are the properties that the API has in a struct.
var nested = provider.Rename{
	"IamInstanceProfile": "IamInstanceProfile.Name", "Monitoring": "Monitoring.Enabled",
}

// placed are those that it has in the struct of a placement.
var placed = provider.Rename{
	"Affinity": "Placement.Affinity", "AvailabilityZone": "Placement.AvailabilityZone", "HostId": "Placement.HostId",
	"HostResourceGroupArn": "Placement.HostResourceGroupArn", "PlacementGroupName": "Placement.GroupName", "Tenancy": "Placement.Tenancy",
}

var (
	runInstanceInput = bindTagged[ec2.RunInstancesInput](types.ResourceTypeInstance, provider.Token("ClientToken"), nested, placed,
		provider.Rename{
			"ElasticGpuSpecifications": "ElasticGpuSpecification", "NetworkInterfaces.GroupSet": "Groups",
		},
		provider.Custom("BlockDeviceMappings.NoDevice", func(any) (string, error) { return "", nil }),
		provider.Finish(func(r *provider.Request, in *ec2.RunInstancesInput) error {
			in.MinCount, in.MaxCount = aws.Int32(1), aws.Int32(1)
			if isTrue(r.Properties, "PropagateTagsToVolumeOnCreation") {
				tags := provider.TagMap(r.Properties.Value("Tags"))
				delete(tags, provider.OwnerTagKey) // it names one resource
				in.TagSpecifications = append(in.TagSpecifications, specifyTags(types.ResourceTypeVolume, tags)...)
			}
			return nil
		}, "PropagateTagsToVolumeOnCreation"))

	// What updateInstance can change while the instance runs, and what only
	// while it is stopped.
	changedRunning = []string{
		"CreditSpecification", "DisableApiTermination", "IamInstanceProfile", "InstanceInitiatedShutdownBehavior",
		"MetadataOptions", "Monitoring", "SecurityGroupIds",
	}
	changedStopped = []string{
		"Affinity", "EbsOptimized", "HostId", "InstanceType", "KernelId", "PrivateDnsNameOptions", "RamdiskId", "Tenancy", "UserData",
	}
	updateInstanceInput = provider.Bind[ec2.RunInstancesInput](provider.Only(slices.Concat(changedRunning, changedStopped)...), nested, placed)
)

// An instance is awaited until it runs, as addresses and targets need that,
// and until it has its profile: EC2 may start it without one that is new.
func instance() provider.Resource {
	volumes := provider.Members("Volumes", provider.Key("VolumeId"), attachVolume, detachVolume)
	volumes.Settled = true
	return provider.Resource{
		Type:    "AWS::EC2::Instance",
		Inputs:  []provider.Input{runInstanceInput},
		Updates: []provider.Input{updateInstanceInput},
		Satellites: []provider.Satellite{volumes, instanceAssociations(), {
			Properties: []string{"SourceDestCheck"}, Settled: true,
			Put: func(ctx context.Context, r *provider.Request) error {
				on := !r.Properties.Has("SourceDestCheck") || isTrue(r.Properties, "SourceDestCheck")
				if on && r.Previous == nil {
					return nil
				}
				return modifyInstance(ctx, r, &ec2.ModifyInstanceAttributeInput{SourceDestCheck: boxedBool(on)})
			},
		}},
		Tags: taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).RunInstances, runInstanceInput)
			if err != nil || len(out.Instances) == 0 {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.Instances[0].InstanceId)}, nil
		},
		Update: updateInstance,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{r.PhysicalID}})
			return err
		},
		Gone:  instanceGone,
		Find:  byTag(findTagged),
		Known: idAs("InstanceId"),
		Wait: &provider.Waiter{
			From: provider.WaitDefault, What: "instance running", OK: []string{"running", "stopped"},
			Failed: []string{"shutting-down", "terminated"},
			First:  2 * time.Second, Growth: 1.2, Cap: 5 * time.Second, Timeout: 5 * time.Minute, Read: runningWithProfile,
			Command: func(r *provider.Request) string {
				return "aws ec2 describe-instances --instance-ids " + r.PhysicalID + " --query Reservations[].Instances[].[State.Name,IamInstanceProfile.Arn]"
			},
		},
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "instance terminated", OK: []string{"terminated"}, First: 2 * time.Second,
			Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
				i, err := describeInstance(ctx, r)
				if err != nil {
					return "", "", err
				}
				return instanceState(i), "", nil
			},
		},
		Attributes: instanceAttributes,
		Read:       readInstance,
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			return modifyInstance(ctx, r, &ec2.ModifyInstanceAttributeInput{DisableApiTermination: boxedBool(false)})
		},
		Replaces: []string{"UnsupportedOperation"}, // it cannot be stopped
	}
}

func describeInstance(ctx context.Context, r *provider.Request) (*types.Instance, error) {
	out, err := ec2Client(r.Session).DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{r.PhysicalID}})
	if err != nil {
		return described[types.Instance](nil, err, instanceGone)
	}
	for _, reservation := range out.Reservations {
		if len(reservation.Instances) > 0 {
			return &reservation.Instances[0], nil
		}
	}
	return nil, provider.ErrNotFound
}

func instanceState(i *types.Instance) string {
	if i.State == nil {
		return ""
	}
	return string(i.State.Name)
}

// runningWithProfile reads the state, and gives the instance its profile when
// it runs without.
func runningWithProfile(ctx context.Context, r *provider.Request) (state, detail string, err error) {
	i, err := describeInstance(ctx, r)
	if err == provider.ErrNotFound {
		return "not visible yet", "", nil
	} else if err != nil {
		return "", "", err
	}
	if i.StateReason != nil {
		detail = aws.ToString(i.StateReason.Message)
	}
	profile := text(r.Properties, "IamInstanceProfile")
	if state = instanceState(i); state != "running" || profile == "" || i.IamInstanceProfile != nil {
		return state, detail, nil
	}
	err = associateProfile(ctx, r, profile)
	if provider.HasCode(err, "IncorrectState", "InvalidParameterValue") { // on its way, or the profile is not everywhere yet
		detail, err = err.Error(), nil
	}
	return "running without its instance profile", detail, err
}

func instanceAttributes(ctx context.Context, r *provider.Request) (*value.Object, error) {
	i, err := describeInstance(ctx, r)
	if err == provider.ErrNotFound {
		return nil, nil // not visible yet: they are asked for when they are needed
	} else if err != nil {
		return nil, err
	}
	known := value.NewObject()
	if i.Placement != nil {
		set(known, "AvailabilityZone", i.Placement.AvailabilityZone)
	}
	set(known, "VpcId", i.VpcId)
	set(known, "PrivateDnsName", i.PrivateDnsName)
	set(known, "PrivateIp", i.PrivateIpAddress)
	set(known, "PublicDnsName", i.PublicDnsName)
	set(known, "PublicIp", i.PublicIpAddress)
	if instanceState(i) == "running" { // what it has not by now it never gets
		for _, name := range []string{"PublicDnsName", "PublicIp"} {
			if !known.Has(name) {
				known.Set(name, "")
			}
		}
	}
	return known, nil
}

func attachVolume(ctx context.Context, r *provider.Request, element any) error {
	v, _ := element.(*value.Object)
	_, err := ec2Client(r.Session).AttachVolume(ctx, &ec2.AttachVolumeInput{
		InstanceId: &r.PhysicalID, VolumeId: aws.String(text(v, "VolumeId")), Device: aws.String(text(v, "Device")),
	})
	return err
}

func detachVolume(ctx context.Context, r *provider.Request, element any) error {
	v, _ := element.(*value.Object)
	_, err := ec2Client(r.Session).DetachVolume(ctx, &ec2.DetachVolumeInput{
		InstanceId: &r.PhysicalID, VolumeId: aws.String(text(v, "VolumeId")),
	})
	if provider.HasCode(err, "IncorrectState", "InvalidVolume.NotFound", "InvalidAttachment.NotFound") {
		return nil
	}
	return err
}

func readInstance(ctx context.Context, r *provider.Request) (*value.Object, error) {
	i, err := describeInstance(ctx, r)
	if err != nil {
		return nil, err
	}
	if s := instanceState(i); s == "terminated" || s == "shutting-down" {
		return nil, provider.ErrNotFound
	}
	// Disks and interfaces read back are those of the image and of the subnet too.
	props := shaped(r.Type, i, i.Tags, placed, provider.Skip("BlockDeviceMappings", "NetworkInterfaces", "SecurityGroups", "Monitoring", "IamInstanceProfile"))
	if i.Monitoring != nil {
		props.Set("Monitoring", i.Monitoring.State == types.MonitoringStateEnabled || i.Monitoring.State == types.MonitoringStatePending)
	}
	if i.IamInstanceProfile != nil {
		props.Set("IamInstanceProfile", lastSegment(aws.ToString(i.IamInstanceProfile.Arn), "/"))
	}
	var groups []string
	for _, g := range i.SecurityGroups {
		groups = append(groups, aws.ToString(g.GroupId))
	}
	if len(groups) > 0 && !r.Properties.Has("NetworkInterfaces") {
		props.Set("SecurityGroupIds", list(groups))
	}
	asked := []types.InstanceAttributeName{
		types.InstanceAttributeNameDisableApiTermination, types.InstanceAttributeNameInstanceInitiatedShutdownBehavior, types.InstanceAttributeNameUserData,
	}
	told := make([]*ec2.DescribeInstanceAttributeOutput, len(asked))
	err = forEach(ctx, []int{0, 1, 2}, func(ctx context.Context, n int) (err error) {
		told[n], err = ec2Client(r.Session).DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: &r.PhysicalID, Attribute: asked[n]})
		return err
	})
	if err != nil {
		return nil, err
	}
	if b := told[0].DisableApiTermination; b != nil {
		props.Set("DisableApiTermination", aws.ToBool(b.Value))
	}
	if b := told[1].InstanceInitiatedShutdownBehavior; b != nil {
		set(props, "InstanceInitiatedShutdownBehavior", b.Value)
	}
	if b := told[2].UserData; b != nil {
		set(props, "UserData", b.Value)
	}
	return props, nil
}
