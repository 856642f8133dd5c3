package awssdk

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createRestDeploymentInput = provider.Bind[apigateway.CreateDeploymentInput](
		provider.Rename{
			"DeploymentCanarySettings":     "CanarySettings",
			"StageDescription":             ".",
			"StageDescription.Description": "StageDescription",
		})
	updateRestDeploymentInput = provider.Bind[apigateway.CreateDeploymentInput](provider.Only("Description"))
)

// A deployment is a copy of all that an API consisted of at some time. It can
// make a stage for itself, of which it then describes the settings too.
func restDeployment() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ApiGateway::Deployment",
		Inputs:  []provider.Input{createRestDeploymentInput},
		Updates: []provider.Input{updateRestDeploymentInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"StageDescription"},
			Put: func(ctx context.Context, r *provider.Request) error {
				old, wanted := stageDescribed(r.Previous), stageDescribed(r.Properties)
				if err := patchStage(ctx, r, text(r.Properties, "StageName"), stagePatch(old, wanted)); err != nil {
					return err
				}
				tags := provider.TagMap(wanted.Value("Tags"))
				if len(tags) == 0 || value.Equal(old.Value("Tags"), wanted.Value("Tags")) {
					return nil
				}
				_, err := restClient(r.Session).TagResource(ctx, &apigateway.TagResourceInput{
					ResourceArn: restARN(r, "/restapis/"+*restAPIOf(r)+"/stages/"+text(r.Properties, "StageName")), Tags: tags,
				})
				return err
			},
		}},
		Create: createBy(restOnce, (*apigateway.Client).CreateDeployment, createRestDeploymentInput, func(o *apigateway.CreateDeploymentOutput) *string { return o.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			var p patch
			p.scalars(d.Old, d.New, patched{"Description", "/description", ""})
			_, err := restClient(r.Session).UpdateDeployment(ctx, &apigateway.UpdateDeploymentInput{
				RestApiId: restAPIOf(r), DeploymentId: deploymentOf(r), PatchOperations: p,
			})
			return provider.Updated{}, err
		},
		Delete: deleteRestDeployment,
		Gone:   restGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("DeploymentId", *deploymentOf(r))
		},
		Identifier: func(r *provider.Request) string {
			if strings.Contains(r.PhysicalID, "|") {
				return r.PhysicalID
			}
			return r.PhysicalID + "|" + *restAPIOf(r)
		},
	}
}

// deploymentOf is the deployment's id; Cloud Control has the API's after it.
func deploymentOf(r *provider.Request) *string {
	id, _, _ := strings.Cut(r.PhysicalID, "|")
	return &id
}

// deleteRestDeployment deletes the stage that the deployment made, if it still
// serves it, and the deployment.
func deleteRestDeployment(ctx context.Context, r *provider.Request) error {
	c := restClient(r.Session)
	if stage := text(r.Properties, "StageName"); stage != "" {
		out, err := c.GetStage(ctx, &apigateway.GetStageInput{RestApiId: restAPIOf(r), StageName: &stage})
		if unlessGone(err, restGone) != nil {
			return err
		}
		if err == nil && aws.ToString(out.DeploymentId) == *deploymentOf(r) {
			_, err := c.DeleteStage(ctx, &apigateway.DeleteStageInput{RestApiId: restAPIOf(r), StageName: &stage})
			if unlessGone(err, restGone) != nil {
				return err
			}
		}
	}
	_, err := c.DeleteDeployment(ctx, &apigateway.DeleteDeploymentInput{RestApiId: restAPIOf(r), DeploymentId: deploymentOf(r)})
	return err
}

// stageDescribed makes the properties of a stage of a deployment's
// StageDescription, where the settings for all methods stand beside those for
// single ones.
func stageDescribed(deployment *value.Object) *value.Object {
	described := deployment.Object("StageDescription")
	if described == nil {
		return nil
	}
	stage, all := value.NewObject(), value.NewObject()
	for name, v := range described.All() {
		if _, ok := methodSettings[name]; ok {
			all.Set(name, v)
		} else {
			stage.Set(name, v)
		}
	}
	if all.Len() > 0 {
		all.Set("ResourcePath", "/*")
		all.Set("HttpMethod", "*")
		stage.Set("MethodSettings", append([]any{all}, stage.List("MethodSettings")...))
	}
	return stage
}

var createRestStageInput = provider.Bind[apigateway.CreateStageInput](provider.Rename{"CanarySetting": "CanarySettings"})

// What a stage can have only once it is there.
var stageLater = []string{"AccessLogSetting", "ClientCertificateId", "MethodSettings"}

// What a create sets, and an update can change.
var stageAtOnce = []string{
	"CacheClusterEnabled", "CacheClusterSize", "CanarySetting", "DeploymentId", "Description",
	"DocumentationVersion", "TracingEnabled", "Variables",
}

// A stage is known by its name, within its API.
func restStage() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ApiGateway::Stage",
		Inputs: []provider.Input{createRestStageInput},
		Satellites: []provider.Satellite{{
			Properties: stageLater,
			Put: func(ctx context.Context, r *provider.Request) error {
				return patchStage(ctx, r, *ownID(r), stagePatch(part(r.Previous, stageLater...), part(r.Properties, stageLater...)))
			},
		}},
		Tags:   restTags(func(r *provider.Request) string { return "/restapis/" + *restAPIOf(r) + "/stages/" + *ownID(r) }),
		Create: createBy(restOnce, (*apigateway.Client).CreateStage, createRestStageInput, func(o *apigateway.CreateStageOutput) *string { return o.StageName }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, patchStage(ctx, r, *ownID(r), stagePatch(part(d.Old, stageAtOnce...), part(d.New, stageAtOnce...)))
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := restClient(r.Session).DeleteStage(ctx, &apigateway.DeleteStageInput{RestApiId: restAPIOf(r), StageName: ownID(r)})
			return err
		},
		Gone:       restGone,
		Identifier: belowRestAPI,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			out, err := restClient(r.Session).GetStage(ctx, &apigateway.GetStageInput{
				RestApiId: restAPIOf(r), StageName: aws.String(text(r.Properties, "StageName")),
			})
			if err != nil {
				return nil, unlessGone(err, restGone)
			}
			return &provider.Holder{PhysicalID: *out.StageName, Tags: out.Tags}, nil
		}),
	}
}

func patchStage(ctx context.Context, r *provider.Request, stage string, p patch) error {
	if len(p) == 0 {
		return nil
	}
	_, err := restClient(r.Session).UpdateStage(ctx, &apigateway.UpdateStageInput{RestApiId: restAPIOf(r), StageName: &stage, PatchOperations: p})
	return err
}

func stagePatch(old, new *value.Object) patch {
	var p patch
	p.scalars(old, new,
		patched{"DeploymentId", "/deploymentId", ""},
		patched{"Description", "/description", ""},
		patched{"DocumentationVersion", "/documentationVersion", ""},
		patched{"CacheClusterEnabled", "/cacheClusterEnabled", "false"},
		patched{"TracingEnabled", "/tracingEnabled", "false"},
		patched{"ClientCertificateId", "/clientCertificateId", ""})
	if new.Has("CacheClusterSize") {
		p.scalars(old, new, patched{"CacheClusterSize", "/cacheClusterSize", ""})
	}
	p.entries("/variables", old.Object("Variables"), new.Object("Variables"), types.OpReplace)
	if old.Has("AccessLogSetting") && !new.Has("AccessLogSetting") {
		p.op(types.OpRemove, "/accessLogSettings", "")
	} else {
		p.scalars(old.Object("AccessLogSetting"), new.Object("AccessLogSetting"),
			patched{"DestinationArn", "/accessLogSettings/destinationArn", ""}, patched{"Format", "/accessLogSettings/format", ""})
	}
	if old.Has("CanarySetting") && !new.Has("CanarySetting") {
		p.op(types.OpRemove, "/canarySettings", "")
	} else {
		was, is := old.Object("CanarySetting"), new.Object("CanarySetting")
		p.scalars(was, is,
			patched{"DeploymentId", "/canarySettings/deploymentId", ""},
			patched{"PercentTraffic", "/canarySettings/percentTraffic", "0"},
			patched{"UseStageCache", "/canarySettings/useStageCache", "false"})
		p.entries("/canarySettings/stageVariableOverrides", was.Object("StageVariableOverrides"), is.Object("StageVariableOverrides"), types.OpReplace)
	}
	p.methodSettings(old.List("MethodSettings"), new.List("MethodSettings"))
	return p
}

// methodSettings are the settings of a method on a stage: their paths below
// the method, and what they are without one.
var methodSettings = map[string]struct{ path, otherwise string }{
	"CacheDataEncrypted":   {"caching/dataEncrypted", "false"},
	"CacheTtlInSeconds":    {"caching/ttlInSeconds", "300"},
	"CachingEnabled":       {"caching/enabled", "false"},
	"DataTraceEnabled":     {"logging/dataTrace", "false"},
	"LoggingLevel":         {"logging/loglevel", "OFF"},
	"MetricsEnabled":       {"metrics/enabled", "false"},
	"ThrottlingBurstLimit": {"throttling/burstLimit", "-1"},
	"ThrottlingRateLimit":  {"throttling/rateLimit", "-1"},
}

func (p *patch) methodSettings(old, new []any) {
	before, after := byMethod(old), byMethod(new)
	for method := range before.All() {
		if !after.Has(method) {
			p.op(types.OpRemove, method, "")
		}
	}
	for method := range after.All() {
		was, is := before.Object(method), after.Object(method)
		for _, name := range slices.Sorted(maps.Keys(methodSettings)) {
			if was.Has(name) || is.Has(name) {
				s := methodSettings[name]
				p.scalars(was, is, patched{name, method + "/" + s.path, s.otherwise})
			}
		}
	}
}

// byMethod keys settings by the path of the method that they are for.
func byMethod(settings []any) *value.Object {
	keyed := value.NewObject()
	for _, v := range settings {
		if s, ok := v.(*value.Object); ok {
			path := text(s, "ResourcePath")
			if path == "/*" || path == "" {
				path = "*"
			}
			method := text(s, "HttpMethod")
			if method == "" {
				method = "*"
			}
			keyed.Set("/"+pointer(path)+"/"+method, s)
		}
	}
	return keyed
}
