package awssdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var (
	putDashboardInput = provider.Bind[cloudwatch.PutDashboardInput]()
	// A put of a dashboard that is there does not look at tags.
	putDashboardAgainInput = provider.Bind[cloudwatch.PutDashboardInput](provider.Skip("Tags"))
	getDashboardInput      = provider.Bind[cloudwatch.GetDashboardInput]()
	// A query protocol's code and a newer one's.
	dashboardGone = []string{"ResourceNotFound", "DashboardNotFoundError"}
)

// A dashboard is known by its name. A put overwrites one of the same name,
// whole, and its time of making is not told.
func dashboard() provider.Resource {
	k := composite{"DashboardName"}
	dashboardARN := func(r *provider.Request, name string) string { return globalARN(r, "cloudwatch", "dashboard/"+name) }
	return keyed(k, provider.Resource{
		Type:    "AWS::CloudWatch::Dashboard",
		Name:    "DashboardName",
		Inputs:  []provider.Input{putDashboardInput},
		Updates: []provider.Input{putDashboardAgainInput},
		Tags:    cloudwatchTags(func(r *provider.Request) string { return dashboardARN(r, r.PhysicalID) }),
		Create:  k.made(provider.Call(cloudwatchClient, (*cloudwatch.Client).PutDashboard, putDashboardInput)),
		Update:  updateBy(cloudwatchClient, (*cloudwatch.Client).PutDashboard, putDashboardAgainInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := cloudwatchClient(r.Session).DeleteDashboards(ctx, &cloudwatch.DeleteDashboardsInput{DashboardNames: []string{r.PhysicalID}})
			return err
		},
		Gone: dashboardGone,
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			if _, err := cloudwatchClient(r.Session).GetDashboard(ctx, &cloudwatch.GetDashboardInput{DashboardName: &r.Name}); err != nil {
				return nil, unlessGone(err, dashboardGone)
			}
			tags, err := cloudwatchTagsOf(ctx, r, dashboardARN(r, r.Name))
			return withTags(&provider.Holder{PhysicalID: r.Name}, tags, err)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := provider.Invoke(ctx, r, cloudwatchClient, (*cloudwatch.Client).GetDashboard, getDashboardInput)
			if err != nil {
				return nil, err
			}
			props := value.NewObject("DashboardName", aws.ToString(out.DashboardName), "DashboardBody", aws.ToString(out.DashboardBody))
			if !r.Properties.Has("Tags") {
				return props, nil
			}
			tags, err := cloudwatchTagsOf(ctx, r, dashboardARN(r, r.PhysicalID))
			props.Set("Tags", tagList(tags))
			return props, err
		},
	})
}

var (
	putDetectorInput    = provider.Bind[cloudwatch.PutAnomalyDetectorInput]()
	deleteDetectorInput = provider.Bind[cloudwatch.DeleteAnomalyDetectorInput]()
	// watched are the properties that say what a detector is about.
	watched = []string{"Dimensions", "MetricMathAnomalyDetector", "MetricName", "Namespace", "SingleMetricAnomalyDetector", "Stat"}
)

// An anomaly detector has no name: calls say what it watches. It is known by a
// digest of that. Each put is of the whole.
func anomalyDetector() provider.Resource {
	return provider.Resource{
		Type:    "AWS::CloudWatch::AnomalyDetector",
		PutOn:   []string{},
		Inputs:  []provider.Input{putDetectorInput},
		Updates: []provider.Input{putDetectorInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, cloudwatchClient, (*cloudwatch.Client).PutAnomalyDetector, putDetectorInput); err != nil {
				return provider.Created{}, err
			}
			sum := sha256.Sum256([]byte(value.JSON(part(r.Properties, watched...))))
			return provider.Created{PhysicalID: hex.EncodeToString(sum[:16])}, nil
		},
		Update: updateBy(cloudwatchClient, (*cloudwatch.Client).PutAnomalyDetector, putDetectorInput),
		Delete: provider.Call(cloudwatchClient, (*cloudwatch.Client).DeleteAnomalyDetector, deleteDetectorInput),
		Gone:   []string{"ResourceNotFoundException"},
		Known:  knownID("Id"),
		Read:   readDetector,
	}
}

// readDetector finds the detector that watches the same, which the properties say
// in either of two spellings, and a read in both.
func readDetector(ctx context.Context, r *provider.Request) (*value.Object, error) {
	shape, _ := schema.Lookup(r.Type)
	pages := cloudwatch.NewDescribeAnomalyDetectorsPaginator(cloudwatchClient(r.Session), &cloudwatch.DescribeAnomalyDetectorsInput{
		AnomalyDetectorTypes: []types.AnomalyDetectorType{types.AnomalyDetectorTypeSingleMetric, types.AnomalyDetectorTypeMetricMath},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range page.AnomalyDetectors {
			there := provider.Unbind(d, shape)
			if !slices.Equal(watches(there), watches(r.Properties)) {
				continue
			}
			props := part(r.Properties, watched...)
			for name, v := range part(there, "Configuration", "MetricCharacteristics").All() {
				props.Set(name, v)
			}
			for _, span := range props.Object("Configuration").List("ExcludedTimeRanges") {
				for name, v := range span.(*value.Object).All() {
					at, _ := value.Text(v)
					span.(*value.Object).Set(name, strings.TrimSuffix(at, "Z")) // CloudFormation's form
				}
			}
			return props, nil
		}
	}
	return nil, provider.ErrNotFound
}

// watches says what a detector watches, in words that compare.
func watches(props *value.Object) []string {
	metric := props
	if single := "SingleMetricAnomalyDetector"; props.Has(single) {
		metric = props.Object(single)
	}
	var words []string
	for _, d := range metric.List("Dimensions") {
		o, _ := d.(*value.Object)
		words = append(words, text(o, "Name")+"="+text(o, "Value"))
	}
	for _, q := range props.Object("MetricMathAnomalyDetector").List("MetricDataQueries") {
		o, _ := q.(*value.Object)
		words = append(words, text(o, "Id")+":"+text(o, "Expression"))
	}
	slices.Sort(words)
	return append(words, text(metric, "Namespace"), text(metric, "MetricName"), text(metric, "Stat"))
}
