package awssdk

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// generatedName is the name of what the API wants one for and the template gives
// none. Such names need not be unique.
func generatedName(r *provider.Request, name **string) {
	if *name == nil {
		*name = aws.String(r.Stack.Name + "-" + r.LogicalID)
	}
}

var createUsagePlanInput = provider.Bind[apigateway.CreateUsagePlanInput](
	provider.Rename{"UsagePlanName": "Name"},
	provider.Finish(func(r *provider.Request, in *apigateway.CreateUsagePlanInput) error {
		generatedName(r, &in.Name)
		return nil
	}))

// A usage plan is known by its id. It cannot be deleted while stages are in it.
func usagePlan() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*apigateway.GetUsagePlanOutput, error) {
		return restClient(r.Session).GetUsagePlan(ctx, &apigateway.GetUsagePlanInput{UsagePlanId: &r.PhysicalID})
	}
	return provider.Resource{
		Type:   "AWS::ApiGateway::UsagePlan",
		Inputs: []provider.Input{createUsagePlanInput},
		Tags:   restTags(func(r *provider.Request) string { return "/usageplans/" + r.PhysicalID }),
		Create: createBy(restOnce, (*apigateway.Client).CreateUsagePlan, createUsagePlanInput, func(o *apigateway.CreateUsagePlanOutput) *string { return o.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, patchUsagePlan(ctx, r, usagePlanPatch(r, d))
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			remove := func() error {
				_, err := restClient(r.Session).DeleteUsagePlan(ctx, &apigateway.DeleteUsagePlanInput{UsagePlanId: &r.PhysicalID})
				return err
			}
			err := remove()
			if !provider.HasCode(err, "BadRequestException") {
				return err
			}
			plan, err := get(ctx, r)
			if err != nil {
				return err
			}
			var p patch
			for _, s := range plan.ApiStages {
				p.op(types.OpRemove, "/apiStages", aws.ToString(s.ApiId)+":"+aws.ToString(s.Stage))
			}
			if err := patchUsagePlan(ctx, r, p); err != nil {
				return err
			}
			return remove()
		},
		Gone:  restGone,
		Known: knownID("Id"),
		Find: byTag(func(ctx context.Context, r *provider.Request) (string, error) {
			pages := apigateway.NewGetUsagePlansPaginator(restClient(r.Session), &apigateway.GetUsagePlansInput{Limit: aws.Int32(500)})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, plan := range page.Items {
					if plan.Tags[provider.OwnerTagKey] == r.OwnerTag {
						return aws.ToString(plan.Id), nil
					}
				}
			}
			return "", nil
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			plan, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			return restProps(r, plan, plan.Tags, provider.Rename{"UsagePlanName": "Name"}), nil
		},
	}
}

// restProps returns what a read gave as properties.
func restProps(r *provider.Request, from any, tags map[string]string, opts ...provider.Option) *value.Object {
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(from, shape, append(opts, provider.Skip("Tags"))...)
	if tags := tagList(tags); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props
}

func patchUsagePlan(ctx context.Context, r *provider.Request, p patch) error {
	if len(p) == 0 {
		return nil
	}
	_, err := restClient(r.Session).UpdateUsagePlan(ctx, &apigateway.UpdateUsagePlanInput{UsagePlanId: &r.PhysicalID, PatchOperations: p})
	return err
}

func usagePlanPatch(r *provider.Request, d provider.Diff) patch {
	var p patch
	var name *string
	generatedName(r, &name)
	p.scalars(d.Old, d.New, patched{"UsagePlanName", "/name", *name}, patched{"Description", "/description", ""})
	p.whole("/quota", d.Old.Object("Quota"), d.New.Object("Quota"),
		patched{"Limit", "/quota/limit", ""}, patched{"Offset", "/quota/offset", ""}, patched{"Period", "/quota/period", ""})
	p.whole("/throttle", d.Old.Object("Throttle"), d.New.Object("Throttle"),
		patched{"BurstLimit", "/throttle/burstLimit", ""}, patched{"RateLimit", "/throttle/rateLimit", ""})

	was, is := planThrottles(d.Old), planThrottles(d.New)
	for path := range was.All() {
		if !is.Has(path) {
			p.op(types.OpRemove, path, "")
		}
	}
	p.values("/apiStages", planStages(d.Old), planStages(d.New))
	for path := range is.All() {
		p.whole(path, was.Object(path), is.Object(path),
			patched{"BurstLimit", path + "/burstLimit", ""}, patched{"RateLimit", path + "/rateLimit", ""})
	}
	return p
}

// planStages are the stages of a plan, by what a patch calls them.
func planStages(props *value.Object) (stages []string) {
	for _, v := range props.List("ApiStages") {
		if s, ok := v.(*value.Object); ok {
			stages = append(stages, text(s, "ApiId")+":"+text(s, "Stage"))
		}
	}
	return stages
}

// planThrottles are the limits of a plan's methods, by the paths that a patch has
// them under. Properties call a method by its path and verb, as /pets/GET.
func planThrottles(props *value.Object) *value.Object {
	limits := value.NewObject()
	for _, v := range props.List("ApiStages") {
		s, _ := v.(*value.Object)
		for method, limit := range s.Object("Throttle").All() {
			i := max(strings.LastIndexByte(method, '/'), 0)
			limits.Set("/apiStages/"+text(s, "ApiId")+":"+text(s, "Stage")+"/throttle/"+pointer(method[:i])+method[i:], limit)
		}
	}
	return limits
}

// A key is in a plan once. CloudFormation knows the two together as key:plan.
func usagePlanKey() provider.Resource {
	ids := func(r *provider.Request) (key, plan *string) {
		k, p, _ := strings.Cut(r.PhysicalID, ":")
		return &k, &p
	}
	idOf := func(r *provider.Request) string {
		return text(r.Properties, "KeyId") + ":" + text(r.Properties, "UsagePlanId")
	}
	read := func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		key, plan := ids(r)
		out, err := restClient(r.Session).GetUsagePlanKey(ctx, &apigateway.GetUsagePlanKeyInput{KeyId: key, UsagePlanId: plan})
		if err != nil {
			return nil, err
		}
		return value.NewObject("KeyId", *key, "KeyType", aws.ToString(out.Type), "UsagePlanId", *plan), nil
	}
	return provider.Resource{
		Type:   "AWS::ApiGateway::UsagePlanKey",
		Inputs: []provider.Input{createUsagePlanKeyInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, restOnce, (*apigateway.Client).CreateUsagePlanKey, createUsagePlanKeyInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: idOf(r)}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			key, plan := ids(r)
			_, err := restClient(r.Session).DeleteUsagePlanKey(ctx, &apigateway.DeleteUsagePlanKeyInput{KeyId: key, UsagePlanId: plan})
			return err
		},
		Gone:  restGone,
		Known: knownID("Id"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			there := *r
			there.PhysicalID = idOf(r)
			if _, err := read(ctx, &there); err != nil {
				return "", unlessGone(err, restGone)
			}
			return there.PhysicalID, nil
		},
		Read: read,
	}
}

var (
	createUsagePlanKeyInput = provider.Bind[apigateway.CreateUsagePlanKeyInput]()

	createAPIKeyInput = provider.Bind[apigateway.CreateApiKeyInput](
		provider.Finish(func(r *provider.Request, in *apigateway.CreateApiKeyInput) error {
			generatedName(r, &in.Name)
			return nil
		}))
)

// An API key is known by its id. Its value, which is a secret, is never read.
func apiKey() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ApiGateway::ApiKey",
		Inputs: []provider.Input{createAPIKeyInput},
		Tags:   restTags(func(r *provider.Request) string { return "/apikeys/" + r.PhysicalID }),
		Create: createBy(restOnce, (*apigateway.Client).CreateApiKey, createAPIKeyInput, func(o *apigateway.CreateApiKeyOutput) *string { return o.Id }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			var p patch
			p.scalars(d.Old, d.New,
				patched{"CustomerId", "/customerId", ""},
				patched{"Description", "/description", ""},
				patched{"Enabled", "/enabled", "false"})
			p.values("/stages", keyStages(d.Old), keyStages(d.New))
			_, err := restClient(r.Session).UpdateApiKey(ctx, &apigateway.UpdateApiKeyInput{ApiKey: &r.PhysicalID, PatchOperations: p})
			return provider.Updated{}, err
		},
		Delete: provider.Call(restClient, (*apigateway.Client).DeleteApiKey, byID[apigateway.DeleteApiKeyInput]("ApiKey")),
		Gone:   restGone,
		Known:  knownID("APIKeyId"),
		Find: byTag(func(ctx context.Context, r *provider.Request) (string, error) {
			pages := apigateway.NewGetApiKeysPaginator(restClient(r.Session), &apigateway.GetApiKeysInput{Limit: aws.Int32(500)})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, key := range page.Items {
					if key.Tags[provider.OwnerTagKey] == r.OwnerTag {
						return aws.ToString(key.Id), nil
					}
				}
			}
			return "", nil
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			key, err := restClient(r.Session).GetApiKey(ctx, &apigateway.GetApiKeyInput{ApiKey: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			props := restProps(r, key, key.Tags, provider.Skip("StageKeys", "Value"))
			var stages []any
			for _, s := range key.StageKeys {
				api, stage, _ := strings.Cut(s, "/")
				stages = append(stages, value.NewObject("RestApiId", api, "StageName", stage))
			}
			if len(stages) > 0 {
				props.Set("StageKeys", stages)
			}
			return props, nil
		},
	}
}

// keyStages are the stages of a key, by what a patch calls them.
func keyStages(props *value.Object) []string {
	var stages []string
	for _, v := range props.List("StageKeys") {
		if s, ok := v.(*value.Object); ok {
			stages = append(stages, text(s, "RestApiId")+"/"+text(s, "StageName"))
		}
	}
	return slices.Compact(stages)
}
