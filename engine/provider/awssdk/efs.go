package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	"github.com/aws/aws-sdk-go-v2/service/efs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func efsClient(s *provider.Session) *efs.Client { return provider.Client(s, efs.NewFromConfig) }

func efsOnce(s *provider.Session) *efs.Client { return provider.OnceClient(s, efs.NewFromConfig) }

func efsResources() []provider.Resource {
	return []provider.Resource{fileSystem(), mountTarget(), accessPoint()}
}

func efsTags(property string) provider.Tags {
	return provider.Tags{
		Property: property, AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := efsClient(r.Session).TagResource(ctx, &efs.TagResourceInput{
				ResourceId: &r.PhysicalID, Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := efsClient(r.Session).UntagResource(ctx, &efs.UntagResourceInput{ResourceId: &r.PhysicalID, TagKeys: keys})
			return err
		},
	}
}

func efsTagList(tags []types.Tag) []any {
	return tagList(tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }))
}

// efsSettled is the wait of everything here. It is made in every mode: what is
// still being made can neither be mounted nor changed.
func efsSettled(what string, state func(ctx context.Context, r *provider.Request) (types.LifeCycleState, error)) *provider.Waiter {
	return &provider.Waiter{
		From: provider.WaitNone, What: what + " to be available", OK: []string{"available", "updating"}, Failed: []string{"error", "deleting", "deleted"},
		First: time.Second, Cap: 5 * time.Second, Timeout: 15 * time.Minute,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			s, err := state(ctx, r)
			return string(s), "", err
		},
	}
}

// untilGone is the wait for the end of what another waiter reads.
func untilGone(w *provider.Waiter, what string) *provider.Waiter {
	gone := *w
	gone.From, gone.What, gone.OK, gone.Failed = provider.WaitNone, what+" to be gone", nil, nil
	return &gone
}

var (
	createFileSystemInput = provider.Bind[efs.CreateFileSystemInput](provider.Token("CreationToken"), provider.Rename{"FileSystemTags": "Tags"})
	updateFileSystemInput = provider.Bind[efs.UpdateFileSystemInput](provider.ID("FileSystemId"), provider.Clear{"ThroughputMode": "bursting"})
	fileLifecycle         = provider.Bind[efs.PutLifecycleConfigurationInput](provider.ID("FileSystemId"), provider.Only("LifecyclePolicies"))
	fileBackup            = provider.Bind[efs.PutBackupPolicyInput](provider.ID("FileSystemId"), provider.Only("BackupPolicy"))
	fileOverwrite         = provider.Bind[efs.UpdateFileSystemProtectionInput](provider.ID("FileSystemId"), provider.Only("FileSystemProtection"), provider.Rename{"FileSystemProtection": "."})
	filePolicy            = provider.Bind[efs.PutFileSystemPolicyInput](provider.ID("FileSystemId"), provider.Only("FileSystemPolicy", "BypassPolicyLockoutSafetyCheck"), provider.Rename{"FileSystemPolicy": "Policy"})
	fileReplication       = provider.Bind[efs.CreateReplicationConfigurationInput](provider.ID("SourceFileSystemId"), provider.Only("ReplicationConfiguration"), provider.Rename{"ReplicationConfiguration": "."})
)

func describeFileSystem(ctx context.Context, r *provider.Request) (*types.FileSystemDescription, error) {
	out, err := efsClient(r.Session).DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{FileSystemId: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return described(out.FileSystems, nil, nil)
}

var fileSystemAvailable = efsSettled("the file system", func(ctx context.Context, r *provider.Request) (types.LifeCycleState, error) {
	f, err := describeFileSystem(ctx, r)
	if err != nil {
		return "", err
	}
	return f.LifeCycleState, nil
})

// A file system is known by its id. Its creation token, which no other one may
// ever have, tells whose create made it.
func fileSystem() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EFS::FileSystem",
		Inputs:  []provider.Input{createFileSystemInput},
		Updates: []provider.Input{updateFileSystemInput},
		// A file system takes one change at a time.
		Satellites: []provider.Satellite{
			{
				Properties: []string{"LifecyclePolicies"}, Input: fileLifecycle, Settled: true, Serial: true,
				Put: provider.Call(efsClient, (*efs.Client).PutLifecycleConfiguration, fileLifecycle),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := efsClient(r.Session).PutLifecycleConfiguration(ctx, &efs.PutLifecycleConfigurationInput{FileSystemId: &r.PhysicalID, LifecyclePolicies: []types.LifecyclePolicy{}})
					return err
				},
			},
			{
				Properties: []string{"BackupPolicy"}, Input: fileBackup, Settled: true, Serial: true,
				Put: provider.Call(efsClient, (*efs.Client).PutBackupPolicy, fileBackup),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := efsClient(r.Session).PutBackupPolicy(ctx, &efs.PutBackupPolicyInput{FileSystemId: &r.PhysicalID, BackupPolicy: &types.BackupPolicy{Status: types.StatusDisabled}})
					return err
				},
			},
			{
				Properties: []string{"FileSystemPolicy", "BypassPolicyLockoutSafetyCheck"}, Input: filePolicy, Settled: true, Serial: true,
				Put: func(ctx context.Context, r *provider.Request) error {
					if !r.Properties.Has("FileSystemPolicy") {
						return removeFilePolicy(ctx, r)
					}
					_, err := provider.Invoke(ctx, r, efsClient, (*efs.Client).PutFileSystemPolicy, filePolicy)
					return err
				},
				Reset: removeFilePolicy,
			},
			{
				Properties: []string{"FileSystemProtection"}, Input: fileOverwrite, Settled: true, Serial: true,
				Put: provider.Call(efsClient, (*efs.Client).UpdateFileSystemProtection, fileOverwrite),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := efsClient(r.Session).UpdateFileSystemProtection(ctx, &efs.UpdateFileSystemProtectionInput{FileSystemId: &r.PhysicalID, ReplicationOverwriteProtection: types.ReplicationOverwriteProtectionEnabled})
					return err
				},
			},
			{
				Properties: []string{"ReplicationConfiguration"}, Input: fileReplication, Settled: true, Serial: true,
				Put: func(ctx context.Context, r *provider.Request) error {
					if r.Previous.Has("ReplicationConfiguration") { // which cannot be changed
						if err := stopReplication(ctx, r); err != nil {
							return err
						}
					}
					_, err := provider.Invoke(ctx, r, efsClient, (*efs.Client).CreateReplicationConfiguration, fileReplication)
					return err
				},
				Reset: stopReplication,
			},
		},
		Tags:   efsTags("FileSystemTags"),
		Create: createBy(efsOnce, (*efs.Client).CreateFileSystem, createFileSystemInput, func(o *efs.CreateFileSystemOutput) *string { return o.FileSystemId }),
		Update: updateBy(efsClient, (*efs.Client).UpdateFileSystem, updateFileSystemInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			if r.Properties.Has("ReplicationConfiguration") {
				if err := stopReplication(ctx, r); err != nil {
					return err
				}
			}
			_, err := efsClient(r.Session).DeleteFileSystem(ctx, &efs.DeleteFileSystemInput{FileSystemId: &r.PhysicalID})
			return err
		},
		Gone:       []string{"FileSystemNotFound"},
		Wait:       fileSystemAvailable,
		DeleteWait: untilGone(fileSystemAvailable, "the file system"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			if r.Token == "" {
				return "", nil
			}
			out, err := efsClient(r.Session).DescribeFileSystems(ctx, &efs.DescribeFileSystemsInput{CreationToken: &r.Token})
			if err != nil || len(out.FileSystems) == 0 {
				return "", err
			}
			return aws.ToString(out.FileSystems[0].FileSystemId), nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("FileSystemId", r.PhysicalID, "Arn", arn(r, "elasticfilesystem", "file-system/"+r.PhysicalID))
		},
		Read: readFileSystem,
	}
}

func removeFilePolicy(ctx context.Context, r *provider.Request) error {
	_, err := efsClient(r.Session).DeleteFileSystemPolicy(ctx, &efs.DeleteFileSystemPolicyInput{FileSystemId: &r.PhysicalID})
	return err
}

func stopReplication(ctx context.Context, r *provider.Request) error {
	_, err := efsClient(r.Session).DeleteReplicationConfiguration(ctx, &efs.DeleteReplicationConfigurationInput{SourceFileSystemId: &r.PhysicalID})
	return unlessGone(err, []string{"ReplicationNotFound"})
}

func readFileSystem(ctx context.Context, r *provider.Request) (*value.Object, error) {
	f, err := describeFileSystem(ctx, r)
	if err != nil {
		return nil, err
	}
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(f, shape, provider.Skip("FileSystemTags"))
	if tags := efsTagList(f.Tags); len(tags) > 0 {
		props.Set("FileSystemTags", tags)
	}
	c := efsClient(r.Session)
	lifecycle, err := c.DescribeLifecycleConfiguration(ctx, &efs.DescribeLifecycleConfigurationInput{FileSystemId: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	if len(lifecycle.LifecyclePolicies) > 0 {
		props.Set("LifecyclePolicies", provider.Unbind(lifecycle, shape, provider.Only("LifecyclePolicies")).Value("LifecyclePolicies"))
	}
	backup, err := c.DescribeBackupPolicy(ctx, &efs.DescribeBackupPolicyInput{FileSystemId: &r.PhysicalID})
	switch {
	case provider.HasCode(err, "PolicyNotFound"):
	case err != nil:
		return nil, err
	default:
		props.Set("BackupPolicy", value.NewObject("Status", string(backup.BackupPolicy.Status)))
	}
	policy, err := c.DescribeFileSystemPolicy(ctx, &efs.DescribeFileSystemPolicyInput{FileSystemId: &r.PhysicalID})
	switch {
	case provider.HasCode(err, "PolicyNotFound"):
	case err != nil:
		return nil, err
	default:
		props.Set("FileSystemPolicy", parsed(aws.ToString(policy.Policy)))
	}
	return props, nil
}

var (
	createMountInput = provider.Bind[efs.CreateMountTargetInput]()
	mountGroups      = provider.Bind[efs.ModifyMountTargetSecurityGroupsInput](provider.ID("MountTargetId"))
)

func describeMountTarget(ctx context.Context, r *provider.Request) (*types.MountTargetDescription, error) {
	out, err := efsClient(r.Session).DescribeMountTargets(ctx, &efs.DescribeMountTargetsInput{MountTargetId: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return described(out.MountTargets, nil, nil)
}

var mountAvailable = efsSettled("the mount target", func(ctx context.Context, r *provider.Request) (types.LifeCycleState, error) {
	m, err := describeMountTarget(ctx, r)
	if err != nil {
		return "", err
	}
	return m.LifeCycleState, nil
})

// A mount target is known by its id. A file system has one in a subnet.
func mountTarget() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EFS::MountTarget",
		Inputs:  []provider.Input{createMountInput},
		Updates: []provider.Input{mountGroups},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, efsOnce, (*efs.Client).CreateMountTarget, createMountInput)
			if err != nil {
				return provider.Created{}, err
			}
			id := aws.ToString(out.MountTargetId)
			made := value.NewObject("Id", id)
			set(made, "IpAddress", out.IpAddress)
			return provider.Created{PhysicalID: id, Attributes: made}, nil
		},
		Update:     updateBy(efsClient, (*efs.Client).ModifyMountTargetSecurityGroups, mountGroups),
		Delete:     provider.Call(efsClient, (*efs.Client).DeleteMountTarget, byID[efs.DeleteMountTargetInput]("MountTargetId")),
		Gone:       []string{"MountTargetNotFound"},
		Wait:       mountAvailable,
		DeleteWait: untilGone(mountAvailable, "the mount target"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			pages := efs.NewDescribeMountTargetsPaginator(efsClient(r.Session), &efs.DescribeMountTargetsInput{FileSystemId: optional(text(r.Properties, "FileSystemId"))})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, m := range page.MountTargets {
					if aws.ToString(m.SubnetId) == text(r.Properties, "SubnetId") {
						return aws.ToString(m.MountTargetId), nil
					}
				}
			}
			return "", nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			m, err := describeMountTarget(ctx, r)
			if err != nil {
				return nil, err
			}
			groups, err := efsClient(r.Session).DescribeMountTargetSecurityGroups(ctx, &efs.DescribeMountTargetSecurityGroupsInput{MountTargetId: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(m, shape)
			props.Set("SecurityGroups", list(groups.SecurityGroups))
			return props, nil
		},
	}
}

var createAccessPointInput = provider.Bind[efs.CreateAccessPointInput](provider.Rename{"AccessPointTags": "Tags"},
	provider.Finish(func(r *provider.Request, in *efs.CreateAccessPointInput) error {
		if in.ClientToken == nil {
			in.ClientToken = optional(r.Token)
		}
		return nil
	}))

func describeAccessPoint(ctx context.Context, r *provider.Request) (*types.AccessPointDescription, error) {
	out, err := efsClient(r.Session).DescribeAccessPoints(ctx, &efs.DescribeAccessPointsInput{AccessPointId: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return described(out.AccessPoints, nil, nil)
}

var accessPointAvailable = efsSettled("the access point", func(ctx context.Context, r *provider.Request) (types.LifeCycleState, error) {
	a, err := describeAccessPoint(ctx, r)
	if err != nil {
		return "", err
	}
	return a.LifeCycleState, nil
})

// An access point is known by its id. Nothing but its tags can be changed.
func accessPoint() provider.Resource {
	return provider.Resource{
		Type:       "AWS::EFS::AccessPoint",
		Inputs:     []provider.Input{createAccessPointInput},
		Tags:       efsTags("AccessPointTags"),
		Create:     createBy(efsOnce, (*efs.Client).CreateAccessPoint, createAccessPointInput, func(o *efs.CreateAccessPointOutput) *string { return o.AccessPointId }),
		Delete:     provider.Call(efsClient, (*efs.Client).DeleteAccessPoint, byID[efs.DeleteAccessPointInput]("AccessPointId")),
		Gone:       []string{"AccessPointNotFound"},
		Wait:       accessPointAvailable,
		DeleteWait: untilGone(accessPointAvailable, "the access point"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			pages := efs.NewDescribeAccessPointsPaginator(efsClient(r.Session), &efs.DescribeAccessPointsInput{FileSystemId: optional(text(r.Properties, "FileSystemId"))})
			for r.Token != "" && pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, a := range page.AccessPoints {
					if aws.ToString(a.ClientToken) == r.Token {
						return aws.ToString(a.AccessPointId), nil
					}
				}
			}
			return "", nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("AccessPointId", r.PhysicalID, "Arn", arn(r, "elasticfilesystem", "access-point/"+r.PhysicalID))
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			a, err := describeAccessPoint(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(a, shape, provider.Skip("AccessPointTags"))
			if tags := efsTagList(a.Tags); len(tags) > 0 {
				props.Set("AccessPointTags", tags)
			}
			return props, nil
		},
	}
}
