package state

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// pasts lists the earlier versions of everything in a bucket, by key. A key that
// was deleted is there, also when no version of it is.
func (s *Store) pasts(ctx context.Context) (map[string][]types.ObjectVersion, error) {
	found := map[string][]types.ObjectVersion{}
	pages := s3.NewListObjectVersionsPaginator(s.client, &s3.ListObjectVersionsInput{Bucket: &s.bucket})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed("list the versions in", "", "s3:ListBucketVersions", Absent, err)
		}
		for _, v := range out.Versions {
			if !aws.ToBool(v.IsLatest) {
				found[aws.ToString(v.Key)] = append(found[aws.ToString(v.Key)], v)
			}
		}
		for _, d := range out.DeleteMarkers {
			if key := aws.ToString(d.Key); found[key] == nil {
				found[key] = []types.ObjectVersion{}
			}
		}
	}
	return found, nil
}

// supersede takes out of what is to be copied, and of what differs, what the new
// bucket had as it is in the old one: it was copied, and a run has changed or
// deleted it since, so that the old one is out of date. What is left to copy was
// never there.
//
// Of a journal and its like no earlier versions are kept. They are out of date
// where the record beside them is.
func (m *migration) supersede(ctx context.Context, missing, differing []string) (copied, disputed []string, err error) {
	pasts, err := m.to.pasts(ctx)
	if err != nil {
		return nil, nil, err
	}
	var asked []string
	for _, key := range missing {
		if pasts[key] == nil {
			copied = append(copied, key)
		} else {
			asked = append(asked, key)
		}
	}
	asked = append(asked, differing...)
	had, errs := make([]bool, len(asked)), make([]error, len(asked))
	parallel(len(asked), func(i int) { had[i], errs[i] = m.had(ctx, asked[i], pasts[asked[i]]) })
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	m.superseded = map[string]bool{}
	for i, key := range asked {
		if had[i] {
			m.superseded[key] = true
		}
	}
	for i, key := range asked {
		switch {
		case had[i]:
		case m.besideSuperseded(key):
			m.superseded[key] = true
		default:
			disputed = append(disputed, key)
		}
	}
	m.Superseded = len(m.superseded)
	return copied, disputed, nil
}

// besideSuperseded tells whether the record of the stack that a key belongs to is
// out of date.
func (m *migration) besideSuperseded(key string) bool {
	folder := strings.TrimSuffix(key[:strings.LastIndexByte(key, '/')+1], eventsFolder)
	return m.superseded[folder+recordName]
}

// had tells whether the new bucket once had a key as the old one has it.
func (m *migration) had(ctx context.Context, key string, versions []types.ObjectVersion) (bool, error) {
	if len(versions) == 0 {
		return false, nil
	}
	old, _, err := m.from.get(ctx, key)
	if err != nil {
		return false, err
	}
	for _, v := range versions {
		if aws.ToInt64(v.Size) != int64(len(old)) {
			continue
		}
		out, err := m.to.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &m.to.bucket, Key: &key, VersionId: v.VersionId})
		var body []byte
		if err == nil {
			body, err = readAll(out.Body)
		}
		if err != nil {
			return false, m.to.failed("read an earlier version of", key, "s3:GetObjectVersion", Absent, err)
		}
		if bytes.Equal(body, old) {
			return true, nil
		}
	}
	return false, nil
}
