package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine/provider"
)

var (
	createMetadata  = provider.Bind[s3.CreateBucketMetadataConfigurationInput](provider.ID("Bucket"), provider.Only("MetadataConfiguration"))
	updateJournal   = provider.Bind[s3.UpdateBucketMetadataJournalTableConfigurationInput](metadataTable...)
	updateInventory = provider.Bind[s3.UpdateBucketMetadataInventoryTableConfigurationInput](metadataTable...)
	createTables    = provider.Bind[s3.CreateBucketMetadataTableConfigurationInput](provider.ID("Bucket"), provider.Only("MetadataTableConfiguration"))
)

// metadataTable are the options of a change of one table.
var metadataTable = []provider.Option{
	provider.ID("Bucket"), provider.Only("MetadataConfiguration"), provider.Rename{"MetadataConfiguration": "."},
}

// bucketMetadata are the tables that S3 keeps of a bucket's objects, in both
// generations of their configuration. Neither can be put over another one: of
// the newer one single tables are changed, the older one is made again.
func bucketMetadata() []provider.Satellite {
	dropMetadata := resetTo((*s3.Client).DeleteBucketMetadataConfiguration, func(b *string) *s3.DeleteBucketMetadataConfigurationInput {
		return &s3.DeleteBucketMetadataConfigurationInput{Bucket: b}
	})
	dropTables := resetTo((*s3.Client).DeleteBucketMetadataTableConfiguration, func(b *string) *s3.DeleteBucketMetadataTableConfigurationInput {
		return &s3.DeleteBucketMetadataTableConfigurationInput{Bucket: b}
	})
	return []provider.Satellite{
		{Properties: []string{"MetadataConfiguration"}, Input: createMetadata, Put: putMetadata, Reset: dropMetadata},
		{Properties: []string{"MetadataTableConfiguration"}, Input: createTables, Reset: dropTables,
			Put: func(ctx context.Context, r *provider.Request) error {
				if r.Previous.Has("MetadataTableConfiguration") {
					if err := dropTables(ctx, r); err != nil {
						return err
					}
				}
				_, err := provider.Invoke(ctx, r, S3Client, (*s3.Client).CreateBucketMetadataTableConfiguration, createTables)
				return err
			}},
	}
}

// putMetadata makes the tables, or changes those that differ. A table that is
// no longer named is switched off; the journal always is on.
func putMetadata(ctx context.Context, r *provider.Request) error {
	if !r.Previous.Has("MetadataConfiguration") {
		_, err := provider.Invoke(ctx, r, S3Client, (*s3.Client).CreateBucketMetadataConfiguration, createMetadata)
		return err
	}
	tables := provider.Compare(r.Previous.Object("MetadataConfiguration"), r.Properties.Object("MetadataConfiguration"))
	if tables.Changed("JournalTableConfiguration") {
		if _, err := provider.Invoke(ctx, r, S3Client, (*s3.Client).UpdateBucketMetadataJournalTableConfiguration, updateJournal); err != nil {
			return err
		}
	}
	if tables.Changed("InventoryTableConfiguration") {
		in, err := updateInventory.Input(r)
		if err != nil {
			return err
		}
		if tables.Removed("InventoryTableConfiguration") {
			in.InventoryTableConfiguration = &types.InventoryTableConfigurationUpdates{ConfigurationState: types.InventoryConfigurationStateDisabled}
		}
		if _, err := S3Client(r.Session).UpdateBucketMetadataInventoryTableConfiguration(ctx, in); err != nil {
			return err
		}
	}
	return nil
}
