package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	gluedocument "github.com/aws/aws-sdk-go-v2/service/glue/document"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func glueClient(s *provider.Session) *glue.Client { return provider.Client(s, glue.NewFromConfig) }

func glueOnce(s *provider.Session) *glue.Client { return provider.OnceClient(s, glue.NewFromConfig) }

func glueResources() []provider.Resource { return []provider.Resource{glueDatabase(), glueTable()} }

var glueGone = []string{"EntityNotFoundException"}

// catalog is the catalogue that every call names.
func catalog(r *provider.Request) *string { return optional(text(r.Properties, "CatalogId")) }

var (
	createGlueDatabaseInput = provider.Bind[glue.CreateDatabaseInput](provider.Finish(func(r *provider.Request, in *glue.CreateDatabaseInput) error {
		if name := text(r.Properties, "DatabaseName"); name != "" && in.DatabaseInput != nil {
			in.DatabaseInput.Name = &name
		}
		return nil
	}, "DatabaseName"))
	updateGlueDatabaseInput = provider.Bind[glue.UpdateDatabaseInput](provider.ID("Name"), provider.Finish(func(r *provider.Request, in *glue.UpdateDatabaseInput) error {
		if in.DatabaseInput != nil {
			in.DatabaseInput.Name = &r.PhysicalID
		}
		return nil
	}))
)

// A database is known by its name, which it has below DatabaseInput or beside
// it. What others wrote into its parameters is kept.
func glueDatabase() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*glue.GetDatabaseOutput, error) {
		return glueClient(r.Session).GetDatabase(ctx, &glue.GetDatabaseInput{Name: &r.PhysicalID, CatalogId: catalog(r)})
	}
	return provider.Resource{
		Type:    "AWS::Glue::Database",
		Inputs:  []provider.Input{createGlueDatabaseInput},
		Updates: []provider.Input{updateGlueDatabaseInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createGlueDatabaseInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			if in.DatabaseInput != nil && in.DatabaseInput.Name == nil {
				in.DatabaseInput.Name = aws.String(generatedGlueName(r))
			}
			if _, err := glueOnce(r.Session).CreateDatabase(ctx, in); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *in.DatabaseInput.Name}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateGlueDatabaseInput.Input(r)
			if err != nil || in.DatabaseInput == nil {
				return provider.Updated{}, err
			}
			now, err := get(ctx, r)
			if err != nil {
				return provider.Updated{}, err
			}
			if now.Database != nil {
				in.DatabaseInput.Parameters = othersToo(now.Database.Parameters, in.DatabaseInput.Parameters, r.Previous.Object("DatabaseInput").Object("Parameters"))
			}
			_, err = glueClient(r.Session).UpdateDatabase(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := glueClient(r.Session).DeleteDatabase(ctx, &glue.DeleteDatabaseInput{Name: &r.PhysicalID, CatalogId: catalog(r)})
			return err
		},
		Gone: glueGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(struct{ DatabaseInput any }{}, shape)
			props.Set("DatabaseInput", provider.Unbind(out.Database, &schema.Type{Properties: shape.Properties["DatabaseInput"].Properties}))
			return props, nil
		},
	}
}

// othersToo lays the parameters wanted over those there are, less those that
// were wanted before.
func othersToo(there, wanted map[string]string, before *value.Object) map[string]string {
	merged := map[string]string{}
	for k, v := range there {
		if !before.Has(k) {
			merged[k] = v
		}
	}
	for k, v := range wanted {
		merged[k] = v
	}
	return merged
}

// generatedGlueName is a name of the letters that Glue takes.
func generatedGlueName(r *provider.Request) string {
	return strings.ToLower(strings.ReplaceAll(r.Stack.Name+"_"+r.LogicalID, "-", "_"))
}

// icebergTable maps the table that Glue makes with its metadata. A column's type
// is a document in the API.
var icebergTable = provider.Options(
	provider.Rename{"OpenTableFormatInput.IcebergInput.IcebergTableInput": "CreateIcebergTableInput"},
	provider.Custom("OpenTableFormatInput.IcebergInput.IcebergTableInput.Schema.Fields.Type", func(v any) (gluedocument.Interface, error) {
		kind, _ := value.Text(v)
		return gluedocument.NewLazyDocument(kind), nil
	}))

var (
	createGlueTableInput = provider.Bind[glue.CreateTableInput](icebergTable, provider.Finish(func(r *provider.Request, in *glue.CreateTableInput) error {
		if name := text(r.Properties, "Name"); name != "" && in.TableInput != nil && in.TableInput.Name == nil {
			in.TableInput.Name = &name
		}
		return nil
	}))
	updateGlueTableInput = provider.Bind[glue.UpdateTableInput](provider.Finish(func(r *provider.Request, in *glue.UpdateTableInput) error {
		if in.TableInput != nil {
			in.TableInput.Name = &r.PhysicalID
		}
		return nil
	}), provider.Only("CatalogId", "DatabaseName", "TableInput"))
)

// A table is known by its name; the calls name its database, too.
func glueTable() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*glue.GetTableOutput, error) {
		return glueClient(r.Session).GetTable(ctx, &glue.GetTableInput{Name: &r.PhysicalID, CatalogId: catalog(r), DatabaseName: aws.String(text(r.Properties, "DatabaseName"))})
	}
	return provider.Resource{
		Type:    "AWS::Glue::Table",
		Inputs:  []provider.Input{createGlueTableInput},
		Updates: []provider.Input{updateGlueTableInput},
		SDKOnly: "Cloud Control does not manage it",
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createGlueTableInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			name := text(r.Properties, "Name")
			if in.TableInput != nil {
				if in.TableInput.Name == nil {
					in.TableInput.Name = aws.String(generatedGlueName(r))
				}
				name = *in.TableInput.Name
			}
			if _, err := glueOnce(r.Session).CreateTable(ctx, in); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: name}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateGlueTableInput.Input(r)
			if err != nil || in.TableInput == nil {
				return provider.Updated{}, err
			}
			now, err := get(ctx, r)
			if err != nil {
				return provider.Updated{}, err
			}
			if now.Table != nil {
				in.VersionId = now.Table.VersionId
				in.TableInput.Parameters = othersToo(now.Table.Parameters, in.TableInput.Parameters, r.Previous.Object("TableInput").Object("Parameters"))
			}
			_, err = glueClient(r.Session).UpdateTable(ctx, in)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := glueClient(r.Session).DeleteTable(ctx, &glue.DeleteTableInput{Name: &r.PhysicalID, CatalogId: catalog(r), DatabaseName: aws.String(text(r.Properties, "DatabaseName"))})
			return err
		},
		Gone: glueGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return value.NewObject("DatabaseName", aws.ToString(out.Table.DatabaseName),
				"TableInput", provider.Unbind(out.Table, &schema.Type{Properties: shape.Properties["TableInput"].Properties})), nil
		},
	}
}
