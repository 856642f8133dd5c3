package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// storageFolder holds a marker for every region that has asset storage of its
// own, outside of every prefix.
const storageFolder = "cdkd-bootstrap/"

// An AssetStorage is where a region's assets go, when it is not the CDK's own
// bootstrap that made the place.
type AssetStorage struct {
	Region        string
	AssetBucket   string
	ContainerRepo string
}

// AssetStorages returns the asset storage of every region that has some. A
// marker that cannot be read is in the error; the others come all the same.
func (s *Store) AssetStorages(ctx context.Context) ([]AssetStorage, error) {
	var regions []string
	err := s.list(ctx, storageFolder, "", func(key string) bool {
		if region, ok := strings.CutSuffix(strings.TrimPrefix(key, storageFolder), ".json"); ok && !strings.Contains(region, "/") {
			regions = append(regions, region)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list the asset storage: %w", err)
	}
	read, errs := make([]*AssetStorage, len(regions)), make([]error, len(regions))
	parallel(len(regions), func(i int) { read[i], errs[i] = s.assetStorage(ctx, regions[i]) })
	var found []AssetStorage
	for _, a := range read {
		if a != nil {
			found = append(found, *a)
		}
	}
	return found, errors.Join(errs...)
}

// assetStorage returns nil when the marker is gone.
func (s *Store) assetStorage(ctx context.Context, region string) (*AssetStorage, error) {
	key := storageFolder + region + ".json"
	body, _, err := s.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the asset storage of %s: %w", region, err)
	}
	o, err := parseObject(key, body)
	if err != nil {
		return nil, fmt.Errorf("read the asset storage of %s: %w", region, err)
	}
	return &AssetStorage{Region: region, AssetBucket: o.String("assetBucket"), ContainerRepo: o.String("containerRepo")}, nil
}
