package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/value"
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
	if _, none := errors.AsType[*NoBucketError](err); none {
		return nil, err // it says all
	}
	if err != nil {
		return nil, fmt.Errorf("read the asset storage of %s: %w", region, err)
	}
	o, err := parseObject(key, body)
	if err != nil {
		return nil, fmt.Errorf("read the asset storage of %s: %w", region, err)
	}
	a := AssetStorage{Region: region, AssetBucket: o.String("assetBucket"), ContainerRepo: o.String("containerRepo")}
	switch version, _ := o.Value("assetSupportVersion").(json.Number); {
	case a.AssetBucket == "" || a.ContainerRepo == "" || version == "":
		err = &MalformedError{Key: key, Problems: []string{"assetBucket, containerRepo or assetSupportVersion is missing"},
			Hint: "write the marker again: delete the object, then bootstrap with the names that it had"}
	case version != "1":
		err = &VersionError{Key: key, Found: version.String(), Understood: "1", isNewer: true}
	}
	if err != nil {
		return nil, fmt.Errorf("read the asset storage of %s: %w", region, err)
	}
	return &a, nil
}

// AssetStorage returns that of one region, nil when it has none. A marker may
// stand under the region as somebody typed it.
func (s *Store) AssetStorage(ctx context.Context, region string) (*AssetStorage, error) {
	a, err := s.assetStorage(ctx, strings.ToLower(region))
	if a == nil && err == nil && region != strings.ToLower(region) {
		return s.assetStorage(ctx, region)
	}
	return a, err
}

// MarkAssetStorage writes down that a region has asset storage. It comes last:
// what a marker names is there.
func (s *Store) MarkAssetStorage(ctx context.Context, a AssetStorage) error {
	body, err := value.MarshalIndent(value.NewObject("assetBucket", a.AssetBucket, "containerRepo", a.ContainerRepo,
		"assetSupportVersion", value.Int(1), "createdAt", time.Now().UTC().Format(isoTime)))
	if err == nil {
		_, err = s.put(ctx, storageFolder+a.Region+".json", body, typeJSON, always)
	}
	if err != nil {
		return fmt.Errorf("write down the asset storage of %s: %w", a.Region, err)
	}
	return nil
}

// UnmarkAssetStorage removes what MarkAssetStorage wrote, earlier versions too.
func (s *Store) UnmarkAssetStorage(ctx context.Context, region string) error {
	key := storageFolder + region + ".json"
	if err := s.remove(ctx, key); err != nil {
		return fmt.Errorf("remove the marker of the asset storage of %s: %w", region, err)
	}
	s.purgeOrWarn(ctx, key)
	return nil
}

// Mentions returns the keys of the records and open operations, under whatever
// prefix of the bucket, in which one of the names stands; of all of them when
// none is given. What cannot be read is an error: it may hold one.
func (s *Store) Mentions(ctx context.Context, names ...string) (found []string, err error) {
	keys, err := s.anywhere(ctx, recordName, pendingName)
	if err != nil || len(names) == 0 {
		return keys, err
	}
	var mu sync.Mutex
	err = s.bodies(ctx, keys, func(key string, body []byte) error {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(string(body), name) }) {
			mu.Lock()
			found = append(found, key)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// Locked returns the keys of the locks under whatever prefix of the bucket,
// expired ones too.
func (s *Store) Locked(ctx context.Context) ([]string, error) { return s.anywhere(ctx, lockName) }

// Texts hands on everything in the bucket, under whatever prefix, that may name
// an asset: records, open operations, and the journals that a rollback goes by.
// One that cannot be understood is an error. see is called from several
// goroutines.
func (s *Store) Texts(ctx context.Context, see func(text []byte)) error {
	keys, err := s.anywhere(ctx, recordName, pendingName, journalName)
	if err != nil {
		return err
	}
	return s.bodies(ctx, keys, func(key string, body []byte) error {
		var err error
		switch {
		case strings.HasSuffix(key, "/"+recordName):
			_, err = ParseRecord(key, body)
		case strings.HasSuffix(key, "/"+pendingName):
			var p *Pending
			if p, err = ParsePending(key, body); err == nil {
				err = p.whole(key)
			}
		default:
			_, err = ParseJournal(key, body)
		}
		see(body)
		return err
	})
}

// whole is an error when an operation does not say all of what it named.
func (p *Pending) whole(key string) error {
	for _, o := range p.Operations {
		if o.Malformed != "" || o.PropertiesOmitted {
			return &MalformedError{Key: key, Problems: []string{"what operation " + o.LogicalID + " names cannot be told"},
				Hint: "deploy the stack, which settles what is open"}
		}
	}
	return nil
}

// anywhere lists the objects of the bucket that have one of the names.
func (s *Store) anywhere(ctx context.Context, names ...string) (keys []string, err error) {
	err = s.list(ctx, "", "", func(key string) bool {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(key, "/"+name) }) {
			keys = append(keys, key)
		}
		return true
	})
	return keys, err
}

// bodies reads objects, several at once. One that is gone by now is left out.
func (s *Store) bodies(ctx context.Context, keys []string, see func(key string, body []byte) error) error {
	errs := make([]error, len(keys))
	parallel(len(keys), func(i int) {
		body, _, err := s.get(ctx, keys[i])
		switch {
		case err == nil:
			errs[i] = see(keys[i], body)
		case !errors.Is(err, errAbsent):
			errs[i] = err
		}
	})
	return errors.Join(errs...)
}
