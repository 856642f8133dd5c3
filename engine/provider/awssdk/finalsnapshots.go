package awssdk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	"github.com/aws/aws-sdk-go-v2/service/redshift"

	"github.com/org/cdkd-action/engine/provider"
)

// snapshotOf is the tag of a snapshot of a volume that says which volume was
// about to be deleted. The cdkd command line looks for it as well.
const snapshotOf = "cdkd:final-snapshot-of"

// A finalSnapshot is how a resource is copied that is about to be deleted by a
// call that leaves no copy itself.
type finalSnapshot struct {
	// find returns the snapshots of the resource, with their states.
	find func(ctx context.Context, r *provider.Request) ([]snapshot, error)
	// take begins one under the name that the request gives, and returns its id.
	take    func(ctx context.Context, r *provider.Request) (string, error)
	done    string   // the state of one that is complete
	gone    string   // the code that says that the resource is not there
	actions []string // of IAM, for both
}

type snapshot struct {
	id, state string
	begun     time.Time
}

// finalSnapshots are the types of which a snapshot is taken before the delete,
// whatever layer deletes them. Neptune and DocumentDB answer to the calls of RDS.
var finalSnapshots = map[string]finalSnapshot{
	"AWS::EC2::Volume":                   {volumeSnapshots, snapVolume, "completed", "InvalidVolume.NotFound", []string{"ec2:CreateSnapshot", "ec2:CreateTags", "ec2:DescribeSnapshots"}},
	"AWS::ElastiCache::ReplicationGroup": {groupSnapshots, snapGroup, "available", "ReplicationGroupNotFoundFault", []string{"elasticache:CreateSnapshot", "elasticache:DescribeSnapshots"}},
	"AWS::Redshift::Cluster":             {warehouseSnapshots, snapWarehouse, "available", "ClusterNotFound", []string{"redshift:CreateClusterSnapshot", "redshift:DescribeClusterSnapshots"}},
	"AWS::Neptune::DBCluster":            {clusterSnapshots, snapCluster, "available", "DBClusterNotFoundFault", []string{"rds:CreateDBClusterSnapshot", "rds:DescribeDBClusterSnapshots"}},
	"AWS::DocDB::DBCluster":              {clusterSnapshots, snapCluster, "available", "DBClusterNotFoundFault", []string{"rds:CreateDBClusterSnapshot", "rds:DescribeDBClusterSnapshots"}},
}

// TakesSnapshotFirst tells whether a final snapshot of a type is taken by
// TakeSnapshot, before the delete.
func TakesSnapshotFirst(typ string) bool { return finalSnapshots[typ].take != nil }

// SnapshotActions are the IAM actions that TakeSnapshot needs for a type.
func SnapshotActions(typ string) []string { return finalSnapshots[typ].actions }

const (
	// snapshotMisses is how many reads may not find a snapshot that was begun.
	snapshotMisses = 24
	// snapshotServes is how old a complete one may be that an earlier attempt
	// left: what was written since would be lost.
	snapshotServes = time.Hour
)

var snapshotFailed = []string{"failed", "error", "deleting"}

// TakeSnapshot takes a snapshot of the resource, named r.FinalSnapshot, and
// returns when it is complete. One that an earlier attempt began is waited for
// instead, so it can be let go and called again: it returns
// [provider.ErrDraining] when r.Draining closes. It takes none of a resource
// that is gone.
func TakeSnapshot(ctx context.Context, r *provider.Request) error {
	how := finalSnapshots[r.Type]
	id, err := how.begin(ctx, r)
	if err != nil || id == "" {
		return err
	}
	missed := 0
	waiter := &provider.Waiter{
		What: "snapshot " + id, OK: []string{how.done}, Failed: snapshotFailed,
		First: 5 * time.Second, Growth: 1, Timeout: time.Hour,
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			there, err := how.find(ctx, r)
			if err != nil {
				return "", "", err
			}
			if i := slices.IndexFunc(there, func(s snapshot) bool { return s.id == id }); i >= 0 {
				return there[i].state, "", nil
			}
			if missed++; missed > snapshotMisses {
				return "", "", provider.ErrNotFound
			}
			return "not listed yet", "", nil
		},
	}
	return waiter.Wait(ctx, r)
}

// begin returns the id of a snapshot that is under way, or just done; "" for a
// resource that is gone.
func (how finalSnapshot) begin(ctx context.Context, r *provider.Request) (string, error) {
	there, err := how.find(ctx, r)
	if err != nil && !provider.HasCode(err, how.gone) {
		return "", fmt.Errorf("look for its snapshots: %w", err)
	}
	for _, s := range there {
		if !slices.Contains(snapshotFailed, s.state) && (s.state != how.done || time.Since(s.begun) < snapshotServes) {
			return s.id, nil
		}
	}
	id, err := how.take(ctx, r)
	switch {
	case provider.HasCode(err, how.gone):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("take the snapshot %s: %w", r.FinalSnapshot, err)
	}
	return id, nil
}

// byName is a snapshot that has the name which an attempt to delete the resource
// gives it: that of this one, but for the time at its end.
func byName(r *provider.Request, name, state *string) (s snapshot, ours bool) {
	const at = "20060102-150405"
	start := r.FinalSnapshot[:max(0, len(r.FinalSnapshot)-len(at))]
	rest, found := strings.CutPrefix(aws.ToString(name), start)
	begun, err := time.Parse(at, rest)
	return snapshot{aws.ToString(name), aws.ToString(state), begun}, found && start != "" && err == nil
}

func volumeSnapshots(ctx context.Context, r *provider.Request) (found []snapshot, err error) {
	pages := ec2.NewDescribeSnapshotsPaginator(ec2Client(r.Session), &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"},
		Filters: []ec2types.Filter{
			{Name: aws.String("volume-id"), Values: []string{r.PhysicalID}},
			{Name: aws.String("tag:" + snapshotOf), Values: []string{r.PhysicalID}},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Snapshots {
			found = append(found, snapshot{aws.ToString(s.SnapshotId), string(s.State), aws.ToTime(s.StartTime)})
		}
	}
	return found, nil
}

func snapVolume(ctx context.Context, r *provider.Request) (string, error) {
	out, err := ec2Once(r.Session).CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
		VolumeId: &r.PhysicalID, Description: aws.String("final snapshot of " + r.PhysicalID),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSnapshot, Tags: []ec2types.Tag{
			{Key: aws.String("Name"), Value: &r.FinalSnapshot},
			{Key: aws.String(snapshotOf), Value: &r.PhysicalID},
		}}},
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.SnapshotId), nil
}

func groupSnapshots(ctx context.Context, r *provider.Request) (found []snapshot, err error) {
	pages := elasticache.NewDescribeSnapshotsPaginator(cacheClient(r.Session), &elasticache.DescribeSnapshotsInput{ReplicationGroupId: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Snapshots {
			if s, ours := byName(r, s.SnapshotName, s.SnapshotStatus); ours {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func snapGroup(ctx context.Context, r *provider.Request) (string, error) {
	_, err := cacheClient(r.Session).CreateSnapshot(ctx, &elasticache.CreateSnapshotInput{ReplicationGroupId: &r.PhysicalID, SnapshotName: &r.FinalSnapshot})
	return named(r, err, "SnapshotAlreadyExistsFault")
}

// named is the answer of a call that takes a snapshot under its name: one that
// is there is what the same call made whose answer was lost.
func named(r *provider.Request, err error, exists string) (string, error) {
	if err != nil && !provider.HasCode(err, exists) {
		return "", err
	}
	return r.FinalSnapshot, nil
}

func warehouseClient(s *provider.Session) *redshift.Client {
	return provider.Client(s, redshift.NewFromConfig)
}

func warehouseSnapshots(ctx context.Context, r *provider.Request) (found []snapshot, err error) {
	pages := redshift.NewDescribeClusterSnapshotsPaginator(warehouseClient(r.Session), &redshift.DescribeClusterSnapshotsInput{ClusterIdentifier: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Snapshots {
			if s, ours := byName(r, s.SnapshotIdentifier, s.Status); ours {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func snapWarehouse(ctx context.Context, r *provider.Request) (string, error) {
	_, err := warehouseClient(r.Session).CreateClusterSnapshot(ctx, &redshift.CreateClusterSnapshotInput{ClusterIdentifier: &r.PhysicalID, SnapshotIdentifier: &r.FinalSnapshot})
	return named(r, err, "ClusterSnapshotAlreadyExists")
}

func clusterSnapshots(ctx context.Context, r *provider.Request) (found []snapshot, err error) {
	pages := rds.NewDescribeDBClusterSnapshotsPaginator(rdsClient(r.Session), &rds.DescribeDBClusterSnapshotsInput{DBClusterIdentifier: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.DBClusterSnapshots {
			if s, ours := byName(r, s.DBClusterSnapshotIdentifier, s.Status); ours {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func snapCluster(ctx context.Context, r *provider.Request) (string, error) {
	_, err := rdsClient(r.Session).CreateDBClusterSnapshot(ctx, &rds.CreateDBClusterSnapshotInput{DBClusterIdentifier: &r.PhysicalID, DBClusterSnapshotIdentifier: &r.FinalSnapshot})
	return named(r, err, "DBClusterSnapshotAlreadyExistsFault")
}
