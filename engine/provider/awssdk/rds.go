package awssdk

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/rds/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func rdsClient(s *provider.Session) *rds.Client { return provider.Client(s, rds.NewFromConfig) }

func rdsOnce(s *provider.Session) *rds.Client { return provider.OnceClient(s, rds.NewFromConfig) }

func rdsResources() []provider.Resource {
	return []provider.Resource{
		dbSubnetGroup("AWS::RDS::DBSubnetGroup"), dbSubnetGroup("AWS::DocDB::DBSubnetGroup"), dbSubnetGroup("AWS::Neptune::DBSubnetGroup"),
		dbCluster(), dbInstance(),
		relatedCluster("AWS::DocDB::DBCluster", documentCluster), relatedInstance("AWS::DocDB::DBInstance", documentInstance),
		relatedCluster("AWS::Neptune::DBCluster", graphCluster), relatedInstance("AWS::Neptune::DBInstance", graphInstance),
	}
}

// rdsTags are the tags of everything in RDS: they are changed by the ARN.
func rdsTags(kind string) provider.Tags {
	of := func(r *provider.Request) *string { return aws.String(arn(r, "rds", kind+":"+r.PhysicalID)) }
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := rdsClient(r.Session).AddTagsToResource(ctx, &rds.AddTagsToResourceInput{
				ResourceName: of(r), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := rdsClient(r.Session).RemoveTagsFromResource(ctx, &rds.RemoveTagsFromResourceInput{ResourceName: of(r), TagKeys: keys})
			return err
		},
	}
}

// findDatabase finds what has the name and this create's own tag.
func findDatabase(property, kind string) func(context.Context, *provider.Request) (string, error) {
	return findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
		name := text(r.Properties, property)
		out, err := rdsClient(r.Session).ListTagsForResource(ctx, &rds.ListTagsForResourceInput{ResourceName: aws.String(arn(r, "rds", kind+":"+name))})
		if err != nil {
			return nil, unlessGone(err, databaseGone)
		}
		return &provider.Holder{PhysicalID: name, Tags: databaseTags(out.TagList)}, nil
	})
}

func databaseTags(tags []types.Tag) map[string]string {
	return tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

// databaseProps returns what a describe gave as properties.
func databaseProps(r *provider.Request, from any, tags []types.Tag, opts ...provider.Option) *value.Object {
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(from, shape, append(opts, provider.Skip("Tags"))...)
	if tags := tagList(databaseTags(tags)); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props
}

// Both spellings are in use.
var databaseGone = []string{
	"DBInstanceNotFound", "DBInstanceNotFoundFault", "DBClusterNotFoundFault", "DBClusterNotFound",
	"DBSubnetGroupNotFoundFault", "DBSubnetGroupNotFound",
}

var (
	createSubnetGroupInput = provider.Bind[rds.CreateDBSubnetGroupInput]()
	modifySubnetGroupInput = provider.Bind[rds.ModifyDBSubnetGroupInput](provider.ID("DBSubnetGroupName"))
)

// A subnet group is known by its name. DocumentDB and Neptune have theirs in the
// API of RDS, at its endpoint:
// https://docs.aws.amazon.com/general/latest/gr/docdb.html
func dbSubnetGroup(typ string) provider.Resource {
	return provider.Resource{
		Type:    typ,
		Name:    "DBSubnetGroupName",
		Inputs:  []provider.Input{createSubnetGroupInput},
		Updates: []provider.Input{modifySubnetGroupInput},
		Tags:    rdsTags("subgrp"),
		Create:  createBy(rdsOnce, (*rds.Client).CreateDBSubnetGroup, createSubnetGroupInput, func(o *rds.CreateDBSubnetGroupOutput) *string { return o.DBSubnetGroup.DBSubnetGroupName }),
		Update:  updateBy(rdsClient, (*rds.Client).ModifyDBSubnetGroup, modifySubnetGroupInput),
		Delete:  provider.Call(rdsClient, (*rds.Client).DeleteDBSubnetGroup, byID[rds.DeleteDBSubnetGroupInput]("DBSubnetGroupName")),
		Gone:    databaseGone,
		Find:    findDatabase("DBSubnetGroupName", "subgrp"),
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			if typ != "AWS::RDS::DBSubnetGroup" {
				return value.NewObject("Id", r.PhysicalID)
			}
			return value.NewObject("DBSubnetGroupArn", arn(r, "rds", "subgrp:"+r.PhysicalID))
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := rdsClient(r.Session).DescribeDBSubnetGroups(ctx, &rds.DescribeDBSubnetGroupsInput{DBSubnetGroupName: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			group, err := described(out.DBSubnetGroups, nil, nil)
			if err != nil {
				return nil, err
			}
			tags, err := rdsClient(r.Session).ListTagsForResource(ctx, &rds.ListTagsForResourceInput{ResourceName: aws.String(arn(r, "rds", "subgrp:"+r.PhysicalID))})
			if err != nil {
				return nil, err
			}
			props := databaseProps(r, group, tags.TagList)
			var ids []string
			for _, s := range group.Subnets {
				ids = append(ids, aws.ToString(s.SubnetIdentifier))
			}
			slices.Sort(ids)
			props.Set("SubnetIds", list(ids))
			return props, nil
		},
	}
}

// available is the wait of a database, which the command makes by hand. An update
// is under way only some seconds after it was asked for.
func available(what, command string, status func(ctx context.Context, r *provider.Request) (string, error)) *provider.Waiter {
	return &provider.Waiter{
		From: provider.WaitDefault, What: what + " to be available", OK: []string{"available"},
		Failed: []string{"failed", "incompatible-network", "incompatible-parameters", "incompatible-restore", "inaccessible-encryption-credentials", "restore-error"},
		First:  5 * time.Second, Cap: 15 * time.Second, Timeout: 30 * time.Minute,
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			state, err = status(ctx, r)
			return state, "", err
		},
		Command: func(r *provider.Request) string { return command + r.PhysicalID + " --region " + r.Stack.Region },
	}
}

// exports is the change of the logs that are exported, which an update says by
// what to begin and what to end.
func exports(r *provider.Request) *types.CloudwatchLogsExportConfiguration {
	const property = "EnableCloudwatchLogsExports"
	wanted, had := texts(r.Properties, property), texts(r.Previous, property)
	on, off := less(wanted, had), less(had, wanted)
	if len(on)+len(off) == 0 {
		return nil
	}
	return &types.CloudwatchLogsExportConfiguration{EnableLogTypes: on, DisableLogTypes: off}
}

// roleMembers is the satellite of the roles that a database may use. It must be
// available for that.
func roleMembers(add, remove func(ctx context.Context, r *provider.Request, role, feature *string) error) provider.Satellite {
	s := provider.Members("AssociatedRoles", provider.Itself,
		func(ctx context.Context, r *provider.Request, e any) error {
			o, _ := e.(*value.Object)
			return add(ctx, r, optional(text(o, "RoleArn")), optional(text(o, "FeatureName")))
		},
		func(ctx context.Context, r *provider.Request, e any) error {
			o, _ := e.(*value.Object)
			return remove(ctx, r, optional(text(o, "RoleArn")), optional(text(o, "FeatureName")))
		})
	s.Settled = true
	return s
}

// applyNow makes a change at once, not in the next maintenance window, unless the
// template says otherwise. A major upgrade is left to the template to allow, as
// with CloudFormation:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-rds-dbinstance.html
func applyNow(now **bool) {
	if *now == nil {
		*now = aws.Bool(true)
	}
}
