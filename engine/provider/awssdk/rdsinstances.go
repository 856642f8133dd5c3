package awssdk

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/rds/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// instanceShape are the options of all inputs with an instance's properties.
var instanceShape = provider.Options(provider.Skip("AssociatedRoles"), provider.Rename{"VPCSecurityGroups": "VpcSecurityGroupIds"})

var (
	createDatabaseInput  = provider.Bind[rds.CreateDBInstanceInput](instanceShape, masterSecret)
	restoreDatabaseInput = provider.Bind[rds.RestoreDBInstanceFromDBSnapshotInput](instanceShape, masterSecret)
	rewindDatabaseInput  = provider.Bind[rds.RestoreDBInstanceToPointInTimeInput](instanceShape, masterSecret,
		provider.Rename{"DBInstanceIdentifier": "TargetDBInstanceIdentifier"})
	replicaInput        = provider.Bind[rds.CreateDBInstanceReadReplicaInput](instanceShape, sameAsItsPast)
	modifyDatabaseInput = provider.Bind[rds.ModifyDBInstanceInput](instanceShape, masterSecret, provider.ID("DBInstanceIdentifier"),
		provider.Rename{"Port": "DBPortNumber"},
		provider.Clear{
			"BackupRetentionPeriod": "1", "CopyTagsToSnapshot": "false", "DedicatedLogVolume": "false", "DeletionProtection": "false",
			"EnableIAMDatabaseAuthentication": "false", "EnablePerformanceInsights": "false", "ManageMasterUserPassword": "false",
			"MonitoringInterval": "0", "MultiAZ": "false", "PromotionTier": "1", "AutoMinorVersionUpgrade": "true",
			"DatabaseInsightsMode": "standard", "NetworkType": "IPV4", "ReplicaMode": "open-read-only",
		},
		databaseChange)

	// databaseChange is what an update of an instance sends of properties that it
	// must not send again.
	databaseChange = provider.Finish(func(r *provider.Request, in *rds.ModifyDBInstanceInput) error {
		applyNow(&in.ApplyImmediately)
		in.CloudwatchLogsExportConfiguration = exports(r)
		same := func(property string) bool {
			return value.Equal(r.Properties.Value(property), r.Previous.Value(property))
		}
		if same("MasterUserPassword") {
			in.MasterUserPassword = nil
		}
		if same("EngineVersion") {
			in.EngineVersion = nil // AWS may have gone on to a later one
		}
		if same("Engine") {
			in.Engine = nil
		}
		if same("AllocatedStorage") {
			in.AllocatedStorage = nil // AWS may have made room
		}
		if same("Port") {
			in.DBPortNumber = nil // naming it restarts the database
		}
		if same("DBSubnetGroupName") {
			in.DBSubnetGroupName = nil
		}
		gone := func(property string) bool { return r.Previous.Has(property) && !r.Properties.Has(property) }
		if gone("ProcessorFeatures") {
			in.UseDefaultProcessorFeatures = aws.Bool(true)
		}
		if size, err := strconv.ParseInt(text(r.Properties, "AllocatedStorage"), 10, 32); gone("MaxAllocatedStorage") && err == nil {
			in.MaxAllocatedStorage = aws.Int32(int32(size)) // storage that does not grow
		}
		return nil
	}, "EnableCloudwatchLogsExports")
)

func describeDatabase(ctx context.Context, r *provider.Request) (*types.DBInstance, error) {
	out, err := rdsClient(r.Session).DescribeDBInstances(ctx, &rds.DescribeDBInstancesInput{DBInstanceIdentifier: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return described(out.DBInstances, nil, nil)
}

var databaseAvailable = available("the database", "aws rds wait db-instance-available --db-instance-identifier ", func(ctx context.Context, r *provider.Request) (string, error) {
	d, err := describeDatabase(ctx, r)
	if err != nil {
		return "", err
	}
	return aws.ToString(d.DBInstanceStatus), nil
})

// createDatabase makes an instance by the call that its source asks for.
func createDatabase(ctx context.Context, r *provider.Request) (*types.DBInstance, error) {
	switch has := r.Properties.Has; {
	case has("DBSnapshotIdentifier") || has("DBClusterSnapshotIdentifier"):
		out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).RestoreDBInstanceFromDBSnapshot, restoreDatabaseInput)
		if err != nil {
			return nil, err
		}
		return out.DBInstance, nil
	case has("RestoreTime") || has("UseLatestRestorableTime") || has("SourceDbiResourceId") || has("SourceDBInstanceAutomatedBackupsArn"):
		out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).RestoreDBInstanceToPointInTime, rewindDatabaseInput)
		if err != nil {
			return nil, err
		}
		return out.DBInstance, nil
	case has("SourceDBInstanceIdentifier") || has("SourceDBClusterIdentifier"):
		out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).CreateDBInstanceReadReplica, replicaInput)
		if err != nil {
			return nil, err
		}
		return out.DBInstance, nil
	}
	out, err := provider.Invoke(ctx, r, rdsOnce, (*rds.Client).CreateDBInstance, createDatabaseInput)
	if err != nil {
		return nil, err
	}
	return out.DBInstance, nil
}

// databaseDeleted waits for an instance to be gone.
var databaseDeleted = deleted(databaseAvailable, "the database")

// A cluster's instance has no snapshots of its own.
func deleteDatabase(ctx context.Context, r *provider.Request) error {
	in := &rds.DeleteDBInstanceInput{DBInstanceIdentifier: &r.PhysicalID, SkipFinalSnapshot: aws.Bool(true)}
	if r.FinalSnapshot != "" && !r.Properties.Has("DBClusterIdentifier") {
		in.FinalDBSnapshotIdentifier, in.SkipFinalSnapshot = &r.FinalSnapshot, nil
	}
	if r.Properties.Has("DeleteAutomatedBackups") {
		in.DeleteAutomatedBackups = aws.Bool(isTrue(r.Properties, "DeleteAutomatedBackups"))
	}
	_, err := rdsClient(r.Session).DeleteDBInstance(ctx, in)
	return err
}

// An instance is known by its identifier. It is made anew, from a snapshot, as
// another one was, or as its replica.
func dbInstance() provider.Resource {
	return provider.Resource{
		Type:    "AWS::RDS::DBInstance",
		Name:    "DBInstanceIdentifier",
		Inputs:  []provider.Input{createDatabaseInput, restoreDatabaseInput, rewindDatabaseInput, replicaInput},
		Updates: []provider.Input{modifyDatabaseInput},
		Handled: []string{"DeleteAutomatedBackups"},

		FinalSnapshot: true,
		Satellites: []provider.Satellite{roleMembers(
			func(ctx context.Context, r *provider.Request, role, feature *string) error {
				_, err := rdsClient(r.Session).AddRoleToDBInstance(ctx, &rds.AddRoleToDBInstanceInput{DBInstanceIdentifier: &r.PhysicalID, RoleArn: role, FeatureName: feature})
				return err
			},
			func(ctx context.Context, r *provider.Request, role, feature *string) error {
				_, err := rdsClient(r.Session).RemoveRoleFromDBInstance(ctx, &rds.RemoveRoleFromDBInstanceInput{DBInstanceIdentifier: &r.PhysicalID, RoleArn: role, FeatureName: feature})
				return err
			})},
		Tags: rdsTags("db"),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			d, err := createDatabase(ctx, r)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(d.DBInstanceIdentifier)}, nil
		},
		Update:     updateBy(rdsClient, (*rds.Client).ModifyDBInstance, modifyDatabaseInput),
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
			o := value.NewObject("DBInstanceArn", aws.ToString(d.DBInstanceArn), "DbiResourceId", aws.ToString(d.DbiResourceId))
			if e := d.Endpoint; e != nil {
				set(o, "Endpoint.Address", e.Address)
				set(o, "Endpoint.HostedZoneId", e.HostedZoneId)
				if e.Port != nil {
					o.Set("Endpoint.Port", value.Int(*e.Port))
				}
			}
			if s := d.MasterUserSecret; s != nil {
				set(o, "MasterUserSecret.SecretArn", s.SecretArn)
			}
			return o, nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			d, err := describeDatabase(ctx, r)
			if err != nil {
				return nil, err
			}
			props := databaseProps(r, d, d.TagList, provider.Skip("Endpoint", "ListenerEndpoint", "DBSubnetGroupName", "MasterUserSecret", "DBSecurityGroups", "Port"), provider.Rename{
				"EnableCloudwatchLogsExports": "EnabledCloudwatchLogsExports", "EnableIAMDatabaseAuthentication": "IAMDatabaseAuthenticationEnabled",
				"EnablePerformanceInsights": "PerformanceInsightsEnabled",
			})
			if g := d.DBSubnetGroup; g != nil {
				set(props, "DBSubnetGroupName", g.DBSubnetGroupName)
			}
			for _, g := range d.DBParameterGroups {
				set(props, "DBParameterGroupName", g.DBParameterGroupName)
			}
			for _, g := range d.OptionGroupMemberships {
				set(props, "OptionGroupName", g.OptionGroupName)
			}
			for _, m := range d.DomainMemberships {
				set(props, "Domain", m.Domain)
				set(props, "DomainFqdn", m.FQDN)
				set(props, "DomainIAMRoleName", m.IAMRoleName)
				set(props, "DomainOu", m.OU)
				set(props, "DomainAuthSecretArn", m.AuthSecretArn)
			}
			if e := d.Endpoint; e != nil && e.Port != nil {
				props.Set("Port", value.Int(*e.Port))
			}
			props.Set("VPCSecurityGroups", list(databaseGroups(d.VpcSecurityGroups)))
			return props, nil
		},
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			_, err := rdsClient(r.Session).ModifyDBInstance(ctx, &rds.ModifyDBInstanceInput{DBInstanceIdentifier: &r.PhysicalID, DeletionProtection: aws.Bool(false), ApplyImmediately: aws.Bool(true)})
			return err
		},
	}
}
