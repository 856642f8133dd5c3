package state

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/org/cdkd-action/engine/partition"
)

// loanFolder holds, outside of every prefix, what AWS is to read once.
const loanFolder = "cdkd-migrate-tmp/"

// Lend puts something where a service of AWS can read it with the caller's
// credentials, for the moment that it needs, and returns its address and what
// removes it again.
func (s *Store) Lend(ctx context.Context, name string, body []byte) (url string, remove func(context.Context) error, err error) {
	key := loanFolder + name + "/" + strconv.FormatInt(time.Now().UnixMilli(), 10) + ".json"
	if _, err := s.put(ctx, key, body, "application/json", always); err != nil {
		return "", nil, err
	}
	url = fmt.Sprintf("https://%s.s3.%s.%s/%s", s.bucket, s.region, partition.URLSuffix(s.region), key)
	return url, func(ctx context.Context) error {
		if err := s.remove(ctx, key); err != nil {
			return err
		}
		return s.purge(ctx, key)
	}, nil
}
