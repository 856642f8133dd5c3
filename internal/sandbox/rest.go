package sandbox

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// A route names the operation behind a method and a path of a REST service.
// A group in the path, if any, is the resource.
type route struct {
	service, method string
	path            *regexp.Regexp
	action          string
}

// r is short because the table is long.
func r(service, method, path, action string) route {
	path = strings.ReplaceAll(path, "{*}", "[^/]+")
	path = strings.ReplaceAll(path, "{}", "([^/]+)")
	return route{service, method, regexp.MustCompile("^" + path + "/?$"), action}
}

// routes are those of the REST services that a deploy calls most. Any other
// request is named by its method and path.
var routes = []route{
	r("lambda", "POST", "/2015-03-31/functions", "CreateFunction"),
	r("lambda", "GET", "/2015-03-31/functions", "ListFunctions"),
	r("lambda", "GET", "/2015-03-31/functions/{}", "GetFunction"),
	r("lambda", "DELETE", "/2015-03-31/functions/{}", "DeleteFunction"),
	r("lambda", "GET", "/2015-03-31/functions/{}/configuration", "GetFunctionConfiguration"),
	r("lambda", "PUT", "/2015-03-31/functions/{}/configuration", "UpdateFunctionConfiguration"),
	r("lambda", "PUT", "/2015-03-31/functions/{}/code", "UpdateFunctionCode"),
	r("lambda", "POST", "/2015-03-31/functions/{}/invocations", "Invoke"),
	r("lambda", "POST", "/2014-11-13/functions/{}/invoke-async", "InvokeAsync"),
	r("lambda", "POST", "/2015-03-31/functions/{}/policy", "AddPermission"),
	r("lambda", "GET", "/2015-03-31/functions/{}/policy", "GetPolicy"),
	r("lambda", "DELETE", "/2015-03-31/functions/{}/policy/{*}", "RemovePermission"),
	r("lambda", "POST", "/2015-03-31/functions/{}/versions", "PublishVersion"),
	r("lambda", "GET", "/2015-03-31/functions/{}/versions", "ListVersionsByFunction"),
	r("lambda", "POST", "/2015-03-31/functions/{}/aliases", "CreateAlias"),
	r("lambda", "GET", "/2015-03-31/functions/{}/aliases/{*}", "GetAlias"),
	r("lambda", "PUT", "/2015-03-31/functions/{}/aliases/{*}", "UpdateAlias"),
	r("lambda", "DELETE", "/2015-03-31/functions/{}/aliases/{*}", "DeleteAlias"),
	r("lambda", "POST", "/2015-03-31/event-source-mappings", "CreateEventSourceMapping"),
	r("lambda", "GET", "/2015-03-31/event-source-mappings", "ListEventSourceMappings"),
	r("lambda", "GET", "/2015-03-31/event-source-mappings/{}", "GetEventSourceMapping"),
	r("lambda", "PUT", "/2015-03-31/event-source-mappings/{}", "UpdateEventSourceMapping"),
	r("lambda", "DELETE", "/2015-03-31/event-source-mappings/{}", "DeleteEventSourceMapping"),
	r("lambda", "POST", "/2018-10-31/layers/{}/versions", "PublishLayerVersion"),
	r("lambda", "GET", "/2018-10-31/layers/{}/versions/{*}", "GetLayerVersion"),
	r("lambda", "DELETE", "/2018-10-31/layers/{}/versions/{*}", "DeleteLayerVersion"),
	r("lambda", "POST", "/2021-10-31/functions/{}/url", "CreateFunctionUrlConfig"),
	r("lambda", "GET", "/2021-10-31/functions/{}/url", "GetFunctionUrlConfig"),
	r("lambda", "PUT", "/2021-10-31/functions/{}/url", "UpdateFunctionUrlConfig"),
	r("lambda", "DELETE", "/2021-10-31/functions/{}/url", "DeleteFunctionUrlConfig"),
	r("lambda", "PUT", "/2017-10-31/functions/{}/concurrency", "PutFunctionConcurrency"),
	r("lambda", "DELETE", "/2017-10-31/functions/{}/concurrency", "DeleteFunctionConcurrency"),
	r("lambda", "GET", "/2017-03-31/tags/(.+)", "ListTags"),
	r("lambda", "POST", "/2017-03-31/tags/(.+)", "TagResource"),
	r("lambda", "DELETE", "/2017-03-31/tags/(.+)", "UntagResource"),

	r("apigateway", "POST", "/restapis", "CreateRestApi"),
	r("apigateway", "GET", "/restapis/{}", "GetRestApi"),
	r("apigateway", "PUT", "/restapis/{}", "PutRestApi"),
	r("apigateway", "PATCH", "/restapis/{}", "UpdateRestApi"),
	r("apigateway", "DELETE", "/restapis/{}", "DeleteRestApi"),
	r("apigateway", "GET", "/restapis/{}/resources", "GetResources"),
	r("apigateway", "POST", "/restapis/{*}/resources/{}", "CreateResource"),
	r("apigateway", "GET", "/restapis/{*}/resources/{}", "GetResource"),
	r("apigateway", "DELETE", "/restapis/{*}/resources/{}", "DeleteResource"),
	r("apigateway", "PUT", "/restapis/{*}/resources/{}/methods/{*}", "PutMethod"),
	r("apigateway", "GET", "/restapis/{*}/resources/{}/methods/{*}", "GetMethod"),
	r("apigateway", "DELETE", "/restapis/{*}/resources/{}/methods/{*}", "DeleteMethod"),
	r("apigateway", "PUT", "/restapis/{*}/resources/{}/methods/{*}/integration", "PutIntegration"),
	r("apigateway", "PUT", "/restapis/{*}/resources/{}/methods/{*}/responses/{*}", "PutMethodResponse"),
	r("apigateway", "PUT", "/restapis/{*}/resources/{}/methods/{*}/integration/responses/{*}", "PutIntegrationResponse"),
	r("apigateway", "POST", "/restapis/{}/deployments", "CreateDeployment"),
	r("apigateway", "DELETE", "/restapis/{*}/deployments/{}", "DeleteDeployment"),
	r("apigateway", "POST", "/restapis/{}/stages", "CreateStage"),
	r("apigateway", "GET", "/restapis/{*}/stages/{}", "GetStage"),
	r("apigateway", "PATCH", "/restapis/{*}/stages/{}", "UpdateStage"),
	r("apigateway", "DELETE", "/restapis/{*}/stages/{}", "DeleteStage"),
	r("apigateway", "POST", "/v2/apis", "CreateApi"),
	r("apigateway", "GET", "/v2/apis/{}", "GetApi"),
	r("apigateway", "PATCH", "/v2/apis/{}", "UpdateApi"),
	r("apigateway", "DELETE", "/v2/apis/{}", "DeleteApi"),
	r("apigateway", "POST", "/v2/apis/{}/integrations", "CreateIntegration"),
	r("apigateway", "DELETE", "/v2/apis/{*}/integrations/{}", "DeleteIntegration"),
	r("apigateway", "POST", "/v2/apis/{}/routes", "CreateRoute"),
	r("apigateway", "DELETE", "/v2/apis/{*}/routes/{}", "DeleteRoute"),
	r("apigateway", "POST", "/v2/apis/{}/stages", "CreateStage"),
	r("apigateway", "DELETE", "/v2/apis/{*}/stages/{}", "DeleteStage"),

	r("route53", "POST", "/2013-04-01/hostedzone", "CreateHostedZone"),
	r("route53", "GET", "/2013-04-01/hostedzone/{}", "GetHostedZone"),
	r("route53", "DELETE", "/2013-04-01/hostedzone/{}", "DeleteHostedZone"),
	r("route53", "POST", "/2013-04-01/hostedzone/{}/rrset", "ChangeResourceRecordSets"),
	r("route53", "GET", "/2013-04-01/hostedzone/{}/rrset", "ListResourceRecordSets"),

	r("cloudfront", "POST", "/2020-05-31/distribution", "CreateDistribution"),
	r("cloudfront", "GET", "/2020-05-31/distribution/{}", "GetDistribution"),
	r("cloudfront", "GET", "/2020-05-31/distribution/{}/config", "GetDistributionConfig"),
	r("cloudfront", "PUT", "/2020-05-31/distribution/{}/config", "UpdateDistribution"),
	r("cloudfront", "DELETE", "/2020-05-31/distribution/{}", "DeleteDistribution"),
}

func restAction(service string, req *http.Request) (action, resource string) {
	for _, r := range routes {
		if r.service != service || r.method != req.Method {
			continue
		}
		// %2F in an ARN stays part of one segment.
		if m := r.path.FindStringSubmatch(req.URL.EscapedPath()); m != nil {
			if len(m) > 1 {
				resource = m[1]
				if plain, err := url.PathUnescape(resource); err == nil {
					resource = plain
				}
			}
			return r.action, resource
		}
	}
	return req.Method + " " + req.URL.Path, ""
}
