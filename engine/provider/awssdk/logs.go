package awssdk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func logsClient(s *provider.Session) *logs.Client { return provider.Client(s, logs.NewFromConfig) }

func logsResources() []provider.Resource {
	return []provider.Resource{logGroup(), subscriptionFilter(), metricFilter(), logStream(), logsResourcePolicy()}
}

var logsGone = []string{"ResourceNotFoundException"}

var (
	createLogGroupInput = provider.Bind[logs.CreateLogGroupInput]()
	// What updateLogGroup can change.
	updateLogGroupInput = provider.Bind[logs.CreateLogGroupInput](provider.Only("KmsKeyId", "DeletionProtectionEnabled"))
	retentionInput      = provider.Bind[logs.PutRetentionPolicyInput](provider.ID("LogGroupName"), provider.Only("RetentionInDays"))
	dataProtectionInput = provider.Bind[logs.PutDataProtectionPolicyInput](provider.ID("LogGroupIdentifier"),
		provider.Rename{"DataProtectionPolicy": "PolicyDocument"}, provider.Only("DataProtectionPolicy"))
	bearerInput = provider.Bind[logs.PutBearerTokenAuthenticationInput](provider.ID("LogGroupIdentifier"),
		provider.Only("BearerTokenAuthenticationEnabled"), provider.Clear{"BearerTokenAuthenticationEnabled": "false"})
)

// logGroupARN is the form that calls take; the attribute ends in ":*".
func logGroupARN(r *provider.Request) string { return arn(r, "logs", "log-group:"+r.PhysicalID) }

// A log group is known by its name. It refuses changes that are made side by
// side.
func logGroup() provider.Resource {
	return provider.Resource{
		Type:    "AWS::Logs::LogGroup",
		Name:    "LogGroupName",
		Inputs:  []provider.Input{createLogGroupInput},
		Updates: []provider.Input{updateLogGroupInput},
		Satellites: []provider.Satellite{
			{
				Properties: []string{"RetentionInDays"}, Input: retentionInput, Serial: true,
				Put: provider.Call(logsClient, (*logs.Client).PutRetentionPolicy, retentionInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := logsClient(r.Session).DeleteRetentionPolicy(ctx, &logs.DeleteRetentionPolicyInput{LogGroupName: &r.PhysicalID})
					return err
				},
			},
			{
				Properties: []string{"DataProtectionPolicy"}, Input: dataProtectionInput, Serial: true,
				Put: provider.Call(logsClient, (*logs.Client).PutDataProtectionPolicy, dataProtectionInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := logsClient(r.Session).DeleteDataProtectionPolicy(ctx, &logs.DeleteDataProtectionPolicyInput{LogGroupIdentifier: &r.PhysicalID})
					return err
				},
			},
			{
				Properties: []string{"BearerTokenAuthenticationEnabled"}, Input: bearerInput, Serial: true,
				Put: provider.Call(logsClient, (*logs.Client).PutBearerTokenAuthentication, bearerInput),
			},
			{Properties: []string{"FieldIndexPolicies"}, Serial: true, Put: putIndexPolicy},
			{Properties: []string{"ResourcePolicyDocument"}, Serial: true, Put: putLogGroupPolicy},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := logsClient(r.Session).TagResource(ctx, &logs.TagResourceInput{ResourceArn: aws.String(logGroupARN(r)), Tags: tags})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := logsClient(r.Session).UntagResource(ctx, &logs.UntagResourceInput{ResourceArn: aws.String(logGroupARN(r)), TagKeys: keys})
				return err
			},
		},
		Create: createLogGroup,
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			c := logsClient(r.Session)
			if d.Changed("DeletionProtectionEnabled") {
				in := &logs.PutLogGroupDeletionProtectionInput{
					LogGroupIdentifier: &r.PhysicalID, DeletionProtectionEnabled: aws.Bool(text(r.Properties, "DeletionProtectionEnabled") == "true"),
				}
				if _, err := c.PutLogGroupDeletionProtection(ctx, in); err != nil {
					return provider.Updated{}, err
				}
			}
			var err error
			switch key := text(r.Properties, "KmsKeyId"); {
			case !d.Changed("KmsKeyId"):
			case key == "":
				_, err = c.DisassociateKmsKey(ctx, &logs.DisassociateKmsKeyInput{LogGroupName: &r.PhysicalID})
			default:
				_, err = c.AssociateKmsKey(ctx, &logs.AssociateKmsKeyInput{LogGroupName: &r.PhysicalID, KmsKeyId: &key})
			}
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := logsClient(r.Session).DeleteLogGroup(ctx, &logs.DeleteLogGroupInput{LogGroupName: &r.PhysicalID})
			return err
		},
		Gone:   logsGone,
		Lookup: lookupLogGroup, Lookups: lookupLogGroups, Batch: 50,
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "logs", "log-group:"+name+":*"))
		},
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			_, err := logsClient(r.Session).PutLogGroupDeletionProtection(ctx, &logs.PutLogGroupDeletionProtectionInput{
				LogGroupIdentifier: &r.PhysicalID, DeletionProtectionEnabled: aws.Bool(false),
			})
			return err
		},
	}
}

// createLogGroup makes the group, or takes one that is there: Lambda and others
// make the group that they write to when it is missing.
func createLogGroup(ctx context.Context, r *provider.Request) (provider.Created, error) {
	c := logsClient(r.Session)
	in, err := createLogGroupInput.Input(r)
	if err != nil {
		return provider.Created{}, err
	}
	made := provider.Created{PhysicalID: *in.LogGroupName}
	_, err = c.CreateLogGroup(ctx, in)
	switch {
	case err == nil:
		return made, nil
	case !provider.HasCode(err, "ResourceAlreadyExistsException"):
		return provider.Created{}, err
	case !r.Declared && !r.Held:
		named := *r
		named.Name = made.PhysicalID
		if h, lookErr := lookupLogGroup(ctx, &named); lookErr != nil || !mayTake(r, h) {
			return provider.Created{}, taken(err)
		}
	}
	there := *r
	there.PhysicalID = made.PhysicalID
	if in.KmsKeyId != nil {
		if _, err := c.AssociateKmsKey(ctx, &logs.AssociateKmsKeyInput{LogGroupName: in.LogGroupName, KmsKeyId: in.KmsKeyId}); err != nil {
			return provider.Created{}, err
		}
	}
	if tags := tagsOfFound(r); len(tags) > 0 {
		if _, err := c.TagResource(ctx, &logs.TagResourceInput{ResourceArn: aws.String(logGroupARN(&there)), Tags: tags}); err != nil {
			return provider.Created{}, err
		}
	}
	if in.DeletionProtectionEnabled != nil {
		_, err := c.PutLogGroupDeletionProtection(ctx, &logs.PutLogGroupDeletionProtectionInput{
			LogGroupIdentifier: in.LogGroupName, DeletionProtectionEnabled: in.DeletionProtectionEnabled,
		})
		if err != nil {
			return provider.Created{}, err
		}
	}
	return made, nil
}

// putIndexPolicy writes the field indexes. The property is a list; a log group
// has one policy.
func putIndexPolicy(ctx context.Context, r *provider.Request) error {
	c := logsClient(r.Session)
	switch policies := r.Properties.List("FieldIndexPolicies"); len(policies) {
	case 0:
		if r.Previous == nil {
			return nil
		}
		_, err := c.DeleteIndexPolicy(ctx, &logs.DeleteIndexPolicyInput{LogGroupIdentifier: &r.PhysicalID})
		return err
	case 1:
		_, err := c.PutIndexPolicy(ctx, &logs.PutIndexPolicyInput{
			LogGroupIdentifier: &r.PhysicalID, PolicyDocument: aws.String(document(value.NewObject("d", policies[0]), "d")),
		})
		return err
	default:
		return fmt.Errorf("a log group takes one field index policy, not %d", len(policies))
	}
}

func putLogGroupPolicy(ctx context.Context, r *provider.Request) error {
	c, group := logsClient(r.Session), logGroupARN(r)
	if policy := document(r.Properties, "ResourcePolicyDocument"); policy != "" {
		_, err := c.PutResourcePolicy(ctx, &logs.PutResourcePolicyInput{ResourceArn: &group, PolicyDocument: &policy})
		return err
	}
	_, err := c.DeleteResourcePolicy(ctx, &logs.DeleteResourcePolicyInput{ResourceArn: &group})
	return err
}

func lookupLogGroup(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
	c := logsClient(r.Session)
	// Sorted by name, so that of those that begin with it the name itself is first.
	out, err := c.DescribeLogGroups(ctx, &logs.DescribeLogGroupsInput{LogGroupNamePrefix: &r.Name, Limit: aws.Int32(1)})
	if err != nil {
		return nil, err
	}
	if len(out.LogGroups) == 0 || aws.ToString(out.LogGroups[0].LogGroupName) != r.Name {
		return nil, nil
	}
	return logGroupHolder(ctx, r, out.LogGroups[0])
}

// lookupLogGroups asks for several groups by their exact names. An answer in
// pages may be of a service that does not choose by them: then each is asked
// for by itself.
func lookupLogGroups(ctx context.Context, rs []*provider.Request) ([]*provider.Holder, error) {
	out, err := logsClient(rs[0].Session).DescribeLogGroups(ctx, &logs.DescribeLogGroupsInput{LogGroupIdentifiers: names(rs)})
	if err != nil && !provider.HasCode(err, "ResourceNotFoundException", "InvalidParameterException") {
		return nil, err
	}
	holders := make([]*provider.Holder, len(rs))
	for i, r := range rs {
		if err != nil || out.NextToken != nil {
			h, err := lookupLogGroup(ctx, r)
			if err != nil {
				return nil, err
			}
			holders[i] = h
			continue
		}
		if g := slices.IndexFunc(out.LogGroups, func(g types.LogGroup) bool { return aws.ToString(g.LogGroupName) == r.Name }); g >= 0 {
			if holders[i], err = logGroupHolder(ctx, r, out.LogGroups[g]); err != nil {
				return nil, err
			}
		}
	}
	return holders, nil
}

func logGroupHolder(ctx context.Context, r *provider.Request, g types.LogGroup) (*provider.Holder, error) {
	h := &provider.Holder{PhysicalID: r.Name, Created: time.UnixMilli(aws.ToInt64(g.CreationTime))}
	group := strings.TrimSuffix(aws.ToString(g.Arn), ":*")
	out, err := logsClient(r.Session).ListTagsForResource(ctx, &logs.ListTagsForResourceInput{ResourceArn: &group})
	if err != nil {
		return withTags(h, nil, err)
	}
	return withTags(h, read(out.Tags), nil)
}
