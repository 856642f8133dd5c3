package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/rds"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// DocumentDB and Neptune are managed by the API of RDS, at its endpoint: their
// clusters and instances are those of an engine.
// https://docs.aws.amazon.com/general/latest/gr/docdb.html

// relatedClusterInputs are the calls with a cluster's properties.
type relatedClusterInputs struct {
	clusterInputs
	modify *provider.Binding[rds.ModifyDBClusterInput]
	named  provider.Option // what its properties are called in the API
}

func clusterOfEngine(engine string, named provider.Option) relatedClusterInputs {
	named = provider.Options(named, provider.Skip("AssociatedRoles"))
	return relatedClusterInputs{
		clusterInputs: clusterInputs{
			create: provider.Bind[rds.CreateDBClusterInput](named, provider.Finish(func(r *provider.Request, in *rds.CreateDBClusterInput) error {
				in.Engine = &engine
				return nil
			})),
			restore: provider.Bind[rds.RestoreDBClusterFromSnapshotInput](named, provider.Finish(func(r *provider.Request, in *rds.RestoreDBClusterFromSnapshotInput) error {
				in.Engine = &engine
				return nil
			})),
			rewind: provider.Bind[rds.RestoreDBClusterToPointInTimeInput](named),
		},
		modify: provider.Bind[rds.ModifyDBClusterInput](named, provider.ID("DBClusterIdentifier"),
			provider.Clear{
				"BackupRetentionPeriod": "1", "CopyTagsToSnapshot": "false", "DeletionProtection": "false",
				"IamAuthEnabled": "false", "ManageMasterUserPassword": "false",
			}, clusterChange),
		named: named,
	}
}

var (
	documentCluster = clusterOfEngine("docdb", provider.Options())
	graphCluster    = clusterOfEngine("neptune", provider.Rename{
		"DBPort": "Port", "IamAuthEnabled": "EnableIAMDatabaseAuthentication", "ServerlessScalingConfiguration": "ServerlessV2ScalingConfiguration",
	})
)

func relatedCluster(typ string, in relatedClusterInputs) provider.Resource {
	return provider.Resource{
		Type:       typ,
		Name:       "DBClusterIdentifier",
		Inputs:     in.all(),
		Updates:    []provider.Input{in.modify},
		Satellites: []provider.Satellite{clusterRoles()},
		Tags:       rdsTags("cluster"),
		Create:     createCluster(in.clusterInputs),
		Update:     updateBy(rdsClient, (*rds.Client).ModifyDBCluster, in.modify),
		Delete: func(ctx context.Context, r *provider.Request) error {
			c := *r
			c.FinalSnapshot = "" // it was taken before, whatever layer deletes
			return deleteCluster(ctx, &c)
		},
		Gone:       databaseGone,
		Wait:       clusterAvailable,
		DeleteWait: clusterDeleted,
		Find:       findDatabase("DBClusterIdentifier", "cluster"),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describeCluster(ctx, r)
			if err != nil {
				return nil, err
			}
			o := value.NewObject("Id", r.PhysicalID)
			set(o, "ClusterResourceId", c.DbClusterResourceId)
			set(o, "Endpoint", c.Endpoint)
			set(o, "ReadEndpoint", c.ReaderEndpoint)
			if c.Port != nil {
				o.Set("Port", value.Int(*c.Port))
			}
			return o, nil
		},
		Read:      readCluster(in.named, provider.Rename{"IamAuthEnabled": "IAMDatabaseAuthenticationEnabled"}),
		Unprotect: unprotectCluster,
	}
}

// relatedInstanceInputs are the calls with an instance's properties.
type relatedInstanceInputs struct {
	create *provider.Binding[rds.CreateDBInstanceInput]
	modify *provider.Binding[rds.ModifyDBInstanceInput]
}

func instanceOfEngine(engine string) relatedInstanceInputs {
	return relatedInstanceInputs{
		create: provider.Bind[rds.CreateDBInstanceInput](provider.Finish(func(r *provider.Request, in *rds.CreateDBInstanceInput) error {
			in.Engine = &engine
			return nil
		})),
		modify: provider.Bind[rds.ModifyDBInstanceInput](provider.ID("DBInstanceIdentifier"),
			provider.Clear{"EnablePerformanceInsights": "false", "PubliclyAccessible": "false", "AutoMinorVersionUpgrade": "true"}, databaseChange),
	}
}

var documentInstance, graphInstance = instanceOfEngine("docdb"), instanceOfEngine("neptune")

// An instance has no data of its own, and no snapshots: they are its cluster's.
func relatedInstance(typ string, in relatedInstanceInputs) provider.Resource {
	return provider.Resource{
		Type:       typ,
		Name:       "DBInstanceIdentifier",
		Inputs:     []provider.Input{in.create},
		Updates:    []provider.Input{in.modify},
		Tags:       rdsTags("db"),
		Create:     createBy(rdsOnce, (*rds.Client).CreateDBInstance, in.create, func(o *rds.CreateDBInstanceOutput) *string { return o.DBInstance.DBInstanceIdentifier }),
		Update:     updateBy(rdsClient, (*rds.Client).ModifyDBInstance, in.modify),
		Delete:     deleteDatabase,
		Gone:       databaseGone,
		Wait:       databaseAvailable,
		DeleteWait: databaseDeleted,
		Find:       findDatabase("DBInstanceIdentifier", "db"),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			d, err := describeDatabase(ctx, r)
			if err != nil {
				return nil, err
			}
			o := value.NewObject("Id", r.PhysicalID)
			if e := d.Endpoint; e != nil {
				// CloudFormation has texts, and cdkd's records the parts.
				set(o, "Endpoint", e.Address)
				set(o, "Endpoint.Address", e.Address)
				if e.Port != nil {
					o.Set("Port", value.Int(*e.Port))
					o.Set("Endpoint.Port", value.Int(*e.Port))
				}
			}
			return o, nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			d, err := describeDatabase(ctx, r)
			if err != nil {
				return nil, err
			}
			props := databaseProps(r, d, d.TagList, provider.Skip("Endpoint", "Port", "DBSubnetGroupName"), provider.Rename{
				"EnablePerformanceInsights": "PerformanceInsightsEnabled",
			})
			if g := d.DBSubnetGroup; g != nil {
				set(props, "DBSubnetGroupName", g.DBSubnetGroupName)
			}
			for _, g := range d.DBParameterGroups {
				set(props, "DBParameterGroupName", g.DBParameterGroupName)
			}
			return props, nil
		},
	}
}
