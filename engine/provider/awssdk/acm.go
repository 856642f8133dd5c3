package awssdk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	dns "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func acmClient(s *provider.Session) *acm.Client { return provider.Client(s, acm.NewFromConfig) }

func acmOnce(s *provider.Session) *acm.Client { return provider.OnceClient(s, acm.NewFromConfig) }

func acmResources() []provider.Resource { return []provider.Resource{certificate()} }

var certificateOptions = provider.Rename{
	"CertificateTransparencyLoggingPreference": "Options.CertificateTransparencyLoggingPreference", "CertificateExport": "Options.Export",
}

var (
	requestCertificateInput = provider.Bind[acm.RequestCertificateInput](certificateOptions,
		provider.Finish(func(r *provider.Request, in *acm.RequestCertificateInput) error {
			in.IdempotencyToken = optional(acmToken(r.Token))
			// The API takes of these only where mail goes; zones are for the records.
			in.DomainValidationOptions = slices.DeleteFunc(in.DomainValidationOptions, func(o types.DomainValidationOption) bool { return o.ValidationDomain == nil })
			if len(in.DomainValidationOptions) == 0 {
				in.DomainValidationOptions = nil
			}
			return nil
		}))
	certificateOptionsInput = provider.Bind[acm.UpdateCertificateOptionsInput](provider.ID("CertificateArn"), certificateOptions,
		provider.Clear{"CertificateTransparencyLoggingPreference": "ENABLED", "CertificateExport": "DISABLED"})
)

// acmToken is a token in the letters that ACM takes.
func acmToken(token string) string {
	token = strings.ReplaceAll(token, "-", "")
	return token[:min(len(token), 32)]
}

func describeCertificate(ctx context.Context, r *provider.Request) (*types.CertificateDetail, error) {
	out, err := acmClient(r.Session).DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return out.Certificate, nil
}

// awaited says what a certificate still waits for, domain by domain.
func awaited(c *types.CertificateDetail) string {
	if c.FailureReason != "" {
		return string(c.FailureReason)
	}
	var pending []string
	for _, v := range c.DomainValidationOptions {
		switch {
		case v.ValidationStatus == types.DomainStatusSuccess:
		case v.ResourceRecord != nil:
			pending = append(pending, fmt.Sprintf("the %s record %s has to be %s", v.ResourceRecord.Type, aws.ToString(v.ResourceRecord.Name), aws.ToString(v.ResourceRecord.Value)))
		case len(v.ValidationEmails) > 0:
			pending = append(pending, fmt.Sprintf("somebody has to follow the mail to %s", strings.Join(v.ValidationEmails, ", ")))
		}
	}
	slices.Sort(pending)
	return strings.Join(slices.Compact(pending), "; ")
}

var certificateIssued = &provider.Waiter{
	From: provider.WaitDefault, What: "the certificate to be issued", OK: []string{string(types.CertificateStatusIssued)},
	Failed: []string{"FAILED", "VALIDATION_TIMED_OUT", "REVOKED", "EXPIRED", "INACTIVE"},
	First:  2 * time.Second, Cap: 15 * time.Second, Timeout: 75 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		c, err := describeCertificate(ctx, r)
		if err != nil {
			return "", "", err
		}
		return string(c.Status), awaited(c), nil
	},
	Command: func(r *provider.Request) string {
		return "aws acm describe-certificate --certificate-arn " + r.PhysicalID + " --region " + r.Stack.Region
	},
}

// A certificate is known by its ARN. Where the template names the hosted zone of
// a domain, the record that proves that the domain is the account's is put there,
// as CloudFormation does; it stays when the certificate goes, because renewals
// and other certificates of the domain are proved by the same record.
func certificate() provider.Resource {
	return provider.Resource{
		Type:    "AWS::CertificateManager::Certificate",
		Inputs:  []provider.Input{requestCertificateInput},
		Updates: []provider.Input{certificateOptionsInput},
		Satellites: []provider.Satellite{
			{Properties: []string{"DomainValidationOptions"}, Put: proveDomains},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := acmClient(r.Session).AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{
					CertificateArn: &r.PhysicalID, Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				in := &acm.RemoveTagsFromCertificateInput{CertificateArn: &r.PhysicalID}
				for _, k := range keys {
					in.Tags = append(in.Tags, types.Tag{Key: &k})
				}
				_, err := acmClient(r.Session).RemoveTagsFromCertificate(ctx, in)
				return err
			},
		},
		Create: createBy(acmOnce, (*acm.Client).RequestCertificate, requestCertificateInput, func(o *acm.RequestCertificateOutput) *string { return o.CertificateArn }),
		Update: updateBy(acmClient, (*acm.Client).UpdateCertificateOptions, certificateOptionsInput),
		// Distributions and listeners that are gone keep it in use for some minutes.
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "ResourceInUseException", func() error {
				_, err := acmClient(r.Session).DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: &r.PhysicalID})
				return err
			})
		},
		Gone: []string{"ResourceNotFoundException"},
		Wait: certificateIssued,
		Find: byTag(findCertificate),
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("CertificateArn", r.PhysicalID, "Id", r.PhysicalID)
		},
		Read: readCertificate,
	}
}

// proveDomains puts the records that ACM asks for into the zones that the
// template names. ACM tells them some seconds after the request.
func proveDomains(ctx context.Context, r *provider.Request) error {
	zones := map[string]string{}
	for _, v := range r.Properties.List("DomainValidationOptions") {
		if o, ok := v.(*value.Object); ok && text(o, "HostedZoneId") != "" {
			zones[text(o, "DomainName")] = text(o, "HostedZoneId")
		}
	}
	if len(zones) == 0 {
		return nil
	}
	records := map[string]map[string]dns.Change{} // by zone and name: a domain and its wildcard share one
	told := provider.Waiter{
		What: "the records that prove the certificate's domains", OK: []string{"told"}, Failed: []string{"FAILED"}, First: time.Second, Cap: 5 * time.Second,
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			c, err := describeCertificate(ctx, r)
			if err != nil || c.Status == types.CertificateStatusFailed {
				return "FAILED", string(c.FailureReason), err
			}
			clear(records)
			covered := 0
			for _, v := range c.DomainValidationOptions {
				zone := zones[aws.ToString(v.DomainName)]
				if zone == "" || v.ResourceRecord == nil {
					continue
				}
				covered++
				if records[zone] == nil {
					records[zone] = map[string]dns.Change{}
				}
				records[zone][aws.ToString(v.ResourceRecord.Name)] = dns.Change{
					Action: dns.ChangeActionUpsert, ResourceRecordSet: &dns.ResourceRecordSet{
						Name: v.ResourceRecord.Name, Type: dns.RRType(v.ResourceRecord.Type), TTL: aws.Int64(300),
						ResourceRecords: []dns.ResourceRecord{{Value: v.ResourceRecord.Value}},
					},
				}
			}
			if covered < len(zones) {
				return fmt.Sprintf("%d of %d told", covered, len(zones)), "", nil
			}
			return "told", "", nil
		},
	}
	if err := told.Wait(ctx, r); err != nil {
		return err
	}
	for zone, changes := range records {
		err := provider.OnceClient(r.Session, newRecordChanges).change(ctx, zone, slices.Collect(maps.Values(changes))...)
		if err != nil {
			return fmt.Errorf("put the validation records into hosted zone %s: %w", zone, err)
		}
	}
	return nil
}

// findCertificate finds the one for the domain that has this create's own tag.
func findCertificate(ctx context.Context, r *provider.Request) (string, error) {
	pages := acm.NewListCertificatesPaginator(acmClient(r.Session), &acm.ListCertificatesInput{
		Includes: &types.Filters{KeyTypes: types.KeyAlgorithm("").Values()}, // without, only RSA's are listed
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, c := range page.CertificateSummaryList {
			if aws.ToString(c.DomainName) != text(r.Properties, "DomainName") {
				continue
			}
			tags, err := certificateTags(ctx, r, c.CertificateArn)
			if err != nil {
				return "", err
			}
			if tags[provider.OwnerTagKey] == r.OwnerTag {
				return aws.ToString(c.CertificateArn), nil
			}
		}
	}
	return "", nil
}

func certificateTags(ctx context.Context, r *provider.Request, of *string) (map[string]string, error) {
	out, err := acmClient(r.Session).ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: of})
	if err != nil {
		return nil, err
	}
	return tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

func readCertificate(ctx context.Context, r *provider.Request) (*value.Object, error) {
	c, err := describeCertificate(ctx, r)
	if err != nil {
		return nil, err
	}
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(c, shape, certificateOptions, provider.Skip("DomainValidationOptions"))
	props.Delete("Id")
	// AWS counts the domain itself among the others, and spells the algorithm
	// otherwise than it takes it.
	if others := less(c.SubjectAlternativeNames, []string{aws.ToString(c.DomainName)}); len(others) > 0 {
		props.Set("SubjectAlternativeNames", list(others))
	} else {
		props.Delete("SubjectAlternativeNames")
	}
	props.Set("KeyAlgorithm", strings.ReplaceAll(string(c.KeyAlgorithm), "-", "_"))
	if v := c.DomainValidationOptions; len(v) > 0 && v[0].ValidationMethod != "" {
		props.Set("ValidationMethod", string(v[0].ValidationMethod))
	}
	if o := r.Properties.Value("DomainValidationOptions"); o != nil {
		props.Set("DomainValidationOptions", o) // ACM knows no zones
	}
	tags, err := certificateTags(ctx, r, &r.PhysicalID)
	if tags := tagList(tags); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props, err
}
