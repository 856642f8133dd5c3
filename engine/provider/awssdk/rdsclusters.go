package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/rds/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// clusterShape are the options of all inputs with a cluster's properties. The
// secret's key is a member of its own where a master user is made.
var (
	clusterShape  = provider.Options(provider.Skip("AssociatedRoles"), provider.Rename{"PerformanceInsightsEnabled": "EnablePerformanceInsights"})
	masterSecret  = provider.Rename{"MasterUserSecret": ".", "MasterUserSecret.KmsKeyId": "MasterUserSecretKmsKeyId"}
	sameAsItsPast = provider.Skip("MasterUserSecret")
)

var (
	createDBClusterInput = provider.Bind[rds.CreateDBClusterInput](clusterShape, masterSecret)
	restoreClusterInput  = provider.Bind[rds.RestoreDBClusterFromSnapshotInput](clusterShape, sameAsItsPast)
	rewindClusterInput   = provider.Bind[rds.RestoreDBClusterToPointInTimeInput](clusterShape, sameAsItsPast)
	modifyDBClusterInput = provider.Bind[rds.ModifyDBClusterInput](clusterShape, masterSecret, provider.ID("DBClusterIdentifier"),
		provider.Clear{
			"BacktrackWindow": "0", "BackupRetentionPeriod": "1", "CopyTagsToSnapshot": "false", "DeletionProtection": "false",
			"Domain": "none", "EnableGlobalWriteForwarding": "false", "EnableHttpEndpoint": "false",
			"EnableIAMDatabaseAuthentication": "false", "EnableLocalWriteForwarding": "false", "ManageMasterUserPassword": "false",
			"MonitoringInterval": "0", "PerformanceInsightsEnabled": "false", "AutoMinorVersionUpgrade": "true",
			"DatabaseInsightsMode": "standard", "NetworkType": "IPV4",
		},
		clusterChange)

	// clusterChange is what an update of a cluster sends of properties that it must
	// not send again.
	clusterChange = provider.Finish(func(r *provider.Request, in *rds.ModifyDBClusterInput) error {
		applyNow(&in.ApplyImmediately)
		// A cluster has no property that allows a major upgrade: its version does.
		if text(r.Properties, "EngineVersion") != text(r.Previous, "EngineVersion") {
			in.AllowMajorVersionUpgrade = aws.Bool(true)
		}
		in.CloudwatchLogsExportConfiguration = exports(r)
		if value.Equal(r.Properties.Value("MasterUserPassword"), r.Previous.Value("MasterUserPassword")) {
			in.MasterUserPassword = nil
		}
		if value.Equal(r.Properties.Value("EngineVersion"), r.Previous.Value("EngineVersion")) {
			in.EngineVersion = nil // AWS may have gone on to a later one
		}
		return nil
	}, "EnableCloudwatchLogsExports")
)

func describeCluster(ctx context.Context, r *provider.Request) (*types.DBCluster, error) {
	out, err := rdsClient(r.Session).DescribeDBClusters(ctx, &rds.DescribeDBClustersInput{DBClusterIdentifier: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return described(out.DBClusters, nil, nil)
}

var clusterAvailable = available("the cluster", "aws rds wait db-cluster-available --db-cluster-identifier ", func(ctx context.Context, r *provider.Request) (string, error) {
	c, err := describeCluster(ctx, r)
	if err != nil {
		return "", err
	}
	return aws.ToString(c.Status), nil
})

// clusterDeleted waits for a cluster to be gone.
var clusterDeleted = deleted(clusterAvailable, "the cluster")

// deleted is the wait for the end of what a waiter waits for to be available.
func deleted(w *provider.Waiter, what string) *provider.Waiter {
	gone := *w
	gone.From, gone.What, gone.OK, gone.Failed = provider.WaitNone, what+" to be gone", nil, nil
	return &gone
}

// clusterRoles is the satellite of the roles that a cluster may use.
func clusterRoles() provider.Satellite {
	return roleMembers(
		func(ctx context.Context, r *provider.Request, role, feature *string) error {
			_, err := rdsClient(r.Session).AddRoleToDBCluster(ctx, &rds.AddRoleToDBClusterInput{DBClusterIdentifier: &r.PhysicalID, RoleArn: role, FeatureName: feature})
			return err
		},
		func(ctx context.Context, r *provider.Request, role, feature *string) error {
			_, err := rdsClient(r.Session).RemoveRoleFromDBCluster(ctx, &rds.RemoveRoleFromDBClusterInput{DBClusterIdentifier: &r.PhysicalID, RoleArn: role, FeatureName: feature})
			return err
		})
}

// clusterInputs are the calls that make a cluster: anew, from a snapshot, or as
// another cluster was.
type clusterInputs struct {
	create  *provider.Binding[rds.CreateDBClusterInput]
	restore *provider.Binding[rds.RestoreDBClusterFromSnapshotInput]
	rewind  *provider.Binding[rds.RestoreDBClusterToPointInTimeInput]
}

func (in clusterInputs) all() []provider.Input {
	return []provider.Input{in.create, in.restore, in.rewind}
}

func createCluster(in clusterInputs) func(context.Context, *provider.Request) (provider.Created, error) {
	return func(ctx context.Context, r *provider.Request) (provider.Created, error) {
		var cluster *types.DBCluster
		switch {
		case r.Properties.Has("SnapshotIdentifier"):
			out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).RestoreDBClusterFromSnapshot, in.restore)
			if err != nil {
				return provider.Created{}, err
			}
			cluster = out.DBCluster
		case r.Properties.Has("SourceDBClusterIdentifier") || r.Properties.Has("SourceDbClusterResourceId"):
			out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).RestoreDBClusterToPointInTime, in.rewind)
			if err != nil {
				return provider.Created{}, err
			}
			cluster = out.DBCluster
		default:
			out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).CreateDBCluster, in.create)
			if err != nil {
				return provider.Created{}, err
			}
			cluster = out.DBCluster
		}
		return provider.Created{PhysicalID: aws.ToString(cluster.DBClusterIdentifier)}, nil
	}
}

func deleteCluster(ctx context.Context, r *provider.Request) error {
	in := &rds.DeleteDBClusterInput{DBClusterIdentifier: &r.PhysicalID, SkipFinalSnapshot: aws.Bool(true)}
	if r.FinalSnapshot != "" {
		in.FinalDBSnapshotIdentifier, in.SkipFinalSnapshot = &r.FinalSnapshot, nil
	}
	if r.Properties.Has("DeleteAutomatedBackups") {
		in.DeleteAutomatedBackups = aws.Bool(isTrue(r.Properties, "DeleteAutomatedBackups"))
	}
	_, err := rdsClient(r.Session).DeleteDBCluster(ctx, in)
	return err
}

func unprotectCluster(ctx context.Context, r *provider.Request) error {
	_, err := rdsClient(r.Session).ModifyDBCluster(ctx, &rds.ModifyDBClusterInput{DBClusterIdentifier: &r.PhysicalID, DeletionProtection: aws.Bool(false), ApplyImmediately: aws.Bool(true)})
	return err
}

// clusterNames are what a describe of a cluster calls otherwise.
var clusterNames = provider.Rename{
	"DBClusterParameterGroupName": "DBClusterParameterGroup", "DBSubnetGroupName": "DBSubnetGroup",
	"EnableCloudwatchLogsExports": "EnabledCloudwatchLogsExports", "EnableHttpEndpoint": "HttpEndpointEnabled",
	"EnableIAMDatabaseAuthentication": "IAMDatabaseAuthenticationEnabled", "ScalingConfiguration": "ScalingConfigurationInfo",
}

func readCluster(opts ...provider.Option) func(context.Context, *provider.Request) (*value.Object, error) {
	return func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		c, err := describeCluster(ctx, r)
		if err != nil {
			return nil, err
		}
		props := databaseProps(r, c, c.TagList, append(opts, provider.Skip("Endpoint", "ReadEndpoint", "MasterUserSecret"), clusterNames)...)
		props.Set("VpcSecurityGroupIds", list(databaseGroups(c.VpcSecurityGroups)))
		return props, nil
	}
}

// A cluster is known by its identifier.
func dbCluster() provider.Resource {
	inputs := clusterInputs{createDBClusterInput, restoreClusterInput, rewindClusterInput}
	return provider.Resource{
		Type:    "AWS::RDS::DBCluster",
		Name:    "DBClusterIdentifier",
		Inputs:  inputs.all(),
		Updates: []provider.Input{modifyDBClusterInput},
		Handled: []string{"DeleteAutomatedBackups"},

		FinalSnapshot: true,
		Satellites:    []provider.Satellite{clusterRoles()},
		Tags:          rdsTags("cluster"),

		Create:     createCluster(inputs),
		Update:     updateBy(rdsClient, (*rds.Client).ModifyDBCluster, modifyDBClusterInput),
		Delete:     deleteCluster,
		Gone:       databaseGone,
		Wait:       clusterAvailable,
		DeleteWait: clusterDeleted,
		Find:       findDatabase("DBClusterIdentifier", "cluster"),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describeCluster(ctx, r)
			if err != nil {
				return nil, err
			}
			o := value.NewObject("DBClusterArn", aws.ToString(c.DBClusterArn), "DBClusterResourceId", aws.ToString(c.DbClusterResourceId))
			set(o, "Endpoint.Address", c.Endpoint)
			set(o, "ReadEndpoint.Address", c.ReaderEndpoint)
			if c.Port != nil {
				o.Set("Endpoint.Port", value.Int(*c.Port))
			}
			if s := c.MasterUserSecret; s != nil {
				set(o, "MasterUserSecret.SecretArn", s.SecretArn)
			}
			return o, nil
		},
		Read:      readCluster(),
		Unprotect: unprotectCluster,
	}
}

func databaseGroups(in []types.VpcSecurityGroupMembership) []string {
	var ids []string
	for _, g := range in {
		ids = append(ids, aws.ToString(g.VpcSecurityGroupId))
	}
	return ids
}
