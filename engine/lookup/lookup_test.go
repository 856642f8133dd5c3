package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/lookup"
	"github.com/org/cdkd-action/engine/value"
)

// Kumo, behind the sandbox, starts a goroutine that nobody can end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// A cloud answers requests with what is written down for them.
type cloud struct {
	t       *testing.T
	answers []reply
}

// A reply is the body for a request of which target and body hold some text.
// Of several, the first counts.
type reply struct {
	holds  []string
	status int
	body   string
}

func (c cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	request := r.Header.Get("X-Amz-Target") + " " + r.URL.RequestURI() + " " + string(body)
	for _, a := range c.answers {
		if !slices.ContainsFunc(a.holds, func(text string) bool { return !strings.Contains(request, text) }) {
			if r.Header.Get("X-Amz-Target") != "" {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			}
			w.WriteHeader(max(a.status, 200))
			fmt.Fprint(w, a.body)
			return
		}
	}
	c.t.Errorf("nothing is written down for %s", request)
	w.WriteHeader(http.StatusNotImplemented)
}

// at gives a source that asks a server, in one attempt.
func at(url string) *lookup.Source {
	return &lookup.Source{Region: "eu-west-1", Config: func(_, region string) aws.Config {
		return aws.Config{
			Region: region, BaseEndpoint: &url,
			Credentials:      credentials.NewStaticCredentialsProvider("AKID", "s", ""),
			RetryMaxAttempts: 1,
			HTTPClient:       &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		}
	}}
}

func ask(t *testing.T, s *lookup.Source, provider, props string) (any, error) {
	t.Helper()
	o, err := value.ParseObject([]byte(props))
	if err != nil {
		t.Fatal(err)
	}
	a := s.Answers(t.Context(), []assembly.Missing{{Key: "k", Provider: provider, Props: o}})[0]
	return a.Value, a.Err
}

// A question and what is to come of it: a value as JSON, or the text of an
// error.
type question struct {
	name, provider, props string
	answers               []reply
	want, fails           string
}

func (q question) run(t *testing.T, s *lookup.Source) {
	t.Helper()
	got, err := ask(t, s, q.provider, q.props)
	if q.fails != "" {
		if err == nil || !strings.Contains(err.Error(), q.fails) {
			t.Errorf("got %s, %v; want an error with %q", value.JSON(got), err, q.fails)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := value.Parse([]byte(q.want))
	if err != nil {
		t.Fatal(err)
	}
	if !value.Equal(want, got) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(indent(t, want), indent(t, got)))
	}
}

func indent(t *testing.T, v any) string {
	t.Helper()
	b, err := value.MarshalIndent(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func xmlOf(action, inside string) string {
	return "<" + action + "Response>" + inside + "</" + action + "Response>"
}

func elbOf(action, inside string) string {
	return xmlOf(action, "<"+action+"Result>"+inside+"</"+action+"Result>")
}

var (
	image = func(id, date string) string {
		return "<item><imageId>" + id + "</imageId><creationDate>" + date + "</creationDate></item>"
	}
	balancer = func(name, typ string) string {
		return `<member><LoadBalancerArn>` + name + `</LoadBalancerArn><DNSName>` + name + `.example</DNSName><CanonicalHostedZoneId>Z1</CanonicalHostedZoneId>` +
			`<VpcId>vpc-1</VpcId><Type>` + typ + `</Type><IpAddressType>ipv4</IpAddressType><SecurityGroups><member>sg-` + name + `</member></SecurityGroups></member>`
	}
	balancers = func(all ...string) reply {
		return reply{[]string{"Action=DescribeLoadBalancers"}, 0, elbOf("DescribeLoadBalancers", "<LoadBalancers>"+strings.Join(all, "")+"</LoadBalancers>")}
	}
	tags = func(name, value string) string {
		return `<member><ResourceArn>` + name + `</ResourceArn><Tags><member><Key>app</Key><Value>` + value + `</Value></member></Tags></member>`
	}
	tagsOf = func(all ...string) reply {
		return reply{[]string{"Action=DescribeTags"}, 0, elbOf("DescribeTags", "<TagDescriptions>"+strings.Join(all, "")+"</TagDescriptions>")}
	}
	listener = func(name, of, port string) string {
		return `<member><ListenerArn>` + name + `</ListenerArn><LoadBalancerArn>` + of + `</LoadBalancerArn><Port>` + port + `</Port><Protocol>HTTP</Protocol></member>`
	}
	listeners = func(of string, all ...string) reply {
		return reply{[]string{"Action=DescribeListeners", of}, 0, elbOf("DescribeListeners", "<Listeners>"+strings.Join(all, "")+"</Listeners>")}
	}
	zone = func(id, name string, private bool) string {
		return fmt.Sprintf("<HostedZone><Id>/hostedzone/%s</Id><Name>%s</Name><Config><PrivateZone>%v</PrivateZone></Config></HostedZone>", id, name, private)
	}
	hostedZones = func(all ...string) reply {
		return reply{[]string{"/hostedzonesbyname", "dnsname=example.com", "maxitems=10"}, 0, xmlOf("ListHostedZonesByName", "<HostedZones>"+strings.Join(all, "")+"</HostedZones>")}
	}
	zoneOf = func(id, vpc string) reply {
		return reply{[]string{"/hostedzone/" + id}, 0, xmlOf("GetHostedZone", "<HostedZone><Id>"+id+"</Id></HostedZone><VPCs><VPC><VPCId>"+vpc+"</VPCId></VPC></VPCs>")}
	}
	models = func(all ...string) reply {
		var d []string
		for i, m := range all {
			d = append(d, fmt.Sprintf(`{"Identifier":"id%d","Properties":%s}`, i+1, value.JSON(m)))
		}
		return reply{[]string{"ListResources"}, 0, `{"TypeName":"T","ResourceDescriptions":[` + strings.Join(d, ",") + `]}`}
	}
)

func TestAnswers(t *testing.T) {
	for _, q := range []question{
		{"zones: only what is available, sorted (T-30)", "availability-zones", `{}`,
			[]reply{{[]string{"Action=DescribeAvailabilityZones"}, 0, xmlOf("DescribeAvailabilityZones", `<availabilityZoneInfo>
				<item><zoneName>eu-west-1c</zoneName><zoneState>available</zoneState></item>
				<item><zoneName>eu-west-1b</zoneName><zoneState>impaired</zoneState></item>
				<item><zoneName>eu-west-1a</zoneName><zoneState>available</zoneState></item></availabilityZoneInfo>`)}},
			`["eu-west-1a","eu-west-1c"]`, ""},

		{"parameter: not decrypted (T-31)", "ssm", `{"parameterName":"/p"}`,
			[]reply{{[]string{"AmazonSSM.GetParameter", `{"Name":"/p"}`}, 0, `{"Parameter":{"Value":"v"}}`}}, `"v"`, ""},
		{"parameter: without a name (T-31)", "ssm", `{}`, nil, "", "no parameterName"},
		{"parameter: none (T-31)", "ssm", `{"parameterName":"/p","dummyValue":"d"}`,
			[]reply{{[]string{"GetParameter"}, 400, `{"__type":"ParameterNotFound"}`}}, "", "there is no SSM parameter /p in eu-west-1"},
		{"parameter: none, with a dummy (T-32)", "ssm", `{"parameterName":"/p","dummyValue":"d","ignoreErrorOnMissingContext":true}`,
			[]reply{{[]string{"GetParameter"}, 400, `{"__type":"ParameterNotFound"}`}}, `"d"`, ""},
		{"parameter: without a value (T-31)", "ssm", `{"parameterName":"/p","dummyValue":"d","ignoreErrorOnMissingContext":true}`,
			[]reply{{[]string{"GetParameter"}, 0, `{"Parameter":{}}`}}, `"d"`, ""},
		{"parameter: no access is no reason for a dummy (T-32)", "ssm", `{"parameterName":"/p","dummyValue":"d","ignoreErrorOnMissingContext":true}`,
			[]reply{{[]string{"GetParameter"}, 400, `{"__type":"AccessDeniedException"}`}}, "", "AccessDenied"},

		{"hosted zone: exact name (T-33)", "hosted-zone", `{"domainName":"example.com"}`,
			[]reply{hostedZones(zone("Z1", "example.com.", false), zone("Z2", "example.com.au.", false))}, `{"Id":"Z1","Name":"example.com."}`, ""},
		{"hosted zone: two (T-33)", "hosted-zone", `{"domainName":"example.com"}`,
			[]reply{hostedZones(zone("Z1", "example.com.", false), zone("Z2", "example.com.", true))}, "", "there are 2 of hosted zone example.com."},
		{"hosted zone: private (T-33)", "hosted-zone", `{"domainName":"example.com","privateZone":true}`,
			[]reply{hostedZones(zone("Z1", "example.com.", false), zone("Z2", "example.com.", true))}, `{"Id":"Z2","Name":"example.com."}`, ""},
		{"hosted zone: public (T-33)", "hosted-zone", `{"domainName":"example.com.","privateZone":false}`,
			[]reply{hostedZones(zone("Z1", "example.com.", false), zone("Z2", "example.com.", true))}, `{"Id":"Z1","Name":"example.com."}`, ""},
		{"hosted zone: of a VPC (T-33)", "hosted-zone", `{"domainName":"example.com","privateZone":true,"vpcId":"vpc-2"}`,
			[]reply{hostedZones(zone("Z1", "example.com.", true), zone("Z2", "example.com.", true)), zoneOf("Z1", "vpc-1"), zoneOf("Z2", "vpc-2")}, `{"Id":"Z2","Name":"example.com."}`, ""},
		{"hosted zone: none (T-33)", "hosted-zone", `{"domainName":"example.com"}`,
			[]reply{hostedZones(zone("Z2", "other.com.", false))}, "", "there is no hosted zone example.com."},

		{"image: the newest with id and date (T-36)", "ami", `{"owners":["amazon"],"filters":{"name":["al2*"],"state":["available"]}}`,
			[]reply{{[]string{"Action=DescribeImages", "Owner.1=amazon", "Filter.1.Name=name", "Filter.1.Value.1=al2", "Filter.2.Name=state"}, 0, xmlOf("DescribeImages",
				"<imagesSet>"+image("ami-old", "2024-01-01T00:00:00.000Z")+image("ami-new", "2025-01-01T00:00:00.000Z")+"<item><imageId>ami-undated</imageId></item></imagesSet>")}},
			`"ami-new"`, ""},
		{"image: none (T-36)", "ami", `{"filters":{"name":["x"]}}`,
			[]reply{{[]string{"Action=DescribeImages"}, 0, xmlOf("DescribeImages", "<imagesSet/>")}}, "", `no image that matches {"name":["x"]}`},

		{"security group: all traffic out (T-37)", "security-group", `{"securityGroupName":"web","vpcId":"vpc-1"}`,
			[]reply{{[]string{"Filter.1.Name=group-name", "Filter.1.Value.1=web", "Filter.2.Name=vpc-id"}, 0, xmlOf("DescribeSecurityGroups",
				`<securityGroupInfo><item><groupId>sg-1</groupId><ipPermissionsEgress><item><ipProtocol>-1</ipProtocol><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp></item></ipRanges></item></ipPermissionsEgress></item></securityGroupInfo>`)}},
			`{"securityGroupId":"sg-1","allowAllOutbound":true}`, ""},
		{"security group: some traffic out (T-37)", "security-group", `{"securityGroupId":"sg-1"}`,
			[]reply{{[]string{"Filter.1.Name=group-id"}, 0, xmlOf("DescribeSecurityGroups",
				`<securityGroupInfo><item><groupId>sg-1</groupId><ipPermissionsEgress><item><ipProtocol>tcp</ipProtocol><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp></item></ipRanges></item>
				<item><ipProtocol>-1</ipProtocol><ipRanges><item><cidrIp>10.0.0.0/8</cidrIp></item></ipRanges></item></ipPermissionsEgress></item></securityGroupInfo>`)}},
			`{"securityGroupId":"sg-1","allowAllOutbound":false}`, ""},
		{"security group: none (T-37)", "security-group", `{"securityGroupId":"sg-1"}`,
			[]reply{{[]string{"DescribeSecurityGroups"}, 0, xmlOf("DescribeSecurityGroups", `<securityGroupInfo/>`)}}, "", "there is no security group sg-1"},
		{"security group: unnamed", "security-group", `{"vpcId":"vpc-1"}`, nil, "", "neither securityGroupId nor securityGroupName"},

		{"load balancer: of the type (T-38)", "load-balancer", `{"loadBalancerType":"network"}`,
			[]reply{balancers(balancer("a", "application"), balancer("n", "network"))},
			`{"loadBalancerArn":"n","loadBalancerCanonicalHostedZoneId":"Z1","loadBalancerDnsName":"n.example","vpcId":"vpc-1","securityGroupIds":["sg-n"],"ipAddressType":"ipv4"}`, ""},
		{"load balancer: by its tags (T-40)", "load-balancer", `{"loadBalancerType":"application","loadBalancerTags":[{"key":"app","value":"shop"}]}`,
			[]reply{balancers(balancer("a", "application"), balancer("b", "application")), tagsOf(tags("a", "other"), tags("b", "shop"))},
			`{"loadBalancerArn":"b","loadBalancerCanonicalHostedZoneId":"Z1","loadBalancerDnsName":"b.example","vpcId":"vpc-1","securityGroupIds":["sg-b"],"ipAddressType":"ipv4"}`, ""},
		{"load balancer: two (T-40)", "load-balancer", `{"loadBalancerType":"application"}`,
			[]reply{balancers(balancer("a", "application"), balancer("b", "application"))}, "", `there are 2 of load balancer with loadBalancerType "application"`},
		{"load balancer: none", "load-balancer", `{"loadBalancerArn":"x","loadBalancerType":"application"}`,
			[]reply{{[]string{"LoadBalancerArns.member.1=x"}, 400, `<ErrorResponse><Error><Code>LoadBalancerNotFound</Code><Message>no</Message></Error></ErrorResponse>`}}, "", "there is no load balancer"},

		{"listener: by its load balancer's tags, with real groups (T-40)", "load-balancer-listener", `{"loadBalancerType":"application","loadBalancerTags":[{"key":"app","value":"shop"}],"listenerPort":80}`,
			[]reply{balancers(balancer("a", "application"), balancer("b", "application")), tagsOf(tags("a", "other"), tags("b", "shop")), listeners("LoadBalancerArn=b", listener("l1", "b", "80"), listener("l2", "b", "443"))},
			`{"listenerArn":"l1","listenerPort":80,"securityGroupIds":["sg-b"]}`, ""},
		{"listener: by its ARN (T-39)", "load-balancer-listener", `{"loadBalancerType":"application","listenerArn":"l1"}`,
			[]reply{listeners("ListenerArns.member.1=l1", listener("l1", "a", "80")), balancers(balancer("a", "application"))},
			`{"listenerArn":"l1","listenerPort":80,"securityGroupIds":["sg-a"]}`, ""},
		{"listener: two (T-40)", "load-balancer-listener", `{"loadBalancerType":"application","loadBalancerArn":"a"}`,
			[]reply{balancers(balancer("a", "application")), listeners("LoadBalancerArn=a", listener("l1", "a", "80"), listener("l2", "a", "443"))}, "", "there are 2 of listener"},
		{"listener: another protocol (T-39)", "load-balancer-listener", `{"loadBalancerType":"application","loadBalancerArn":"a","listenerProtocol":"HTTPS"}`,
			[]reply{balancers(balancer("a", "application")), listeners("LoadBalancerArn=a", listener("l1", "a", "80"))}, "", "there is no listener"},

		{"key: on the second page, prefix added (T-41)", "key-provider", `{"aliasName":"app"}`,
			[]reply{{[]string{"ListAliases", `"Marker":"m"`}, 0, `{"Aliases":[{"AliasName":"alias/app","TargetKeyId":"k1"}]}`},
				{[]string{"ListAliases"}, 0, `{"Aliases":[{"AliasName":"alias/other","TargetKeyId":"k0"}],"Truncated":true,"NextMarker":"m"}`}}, `{"keyId":"k1"}`, ""},
		{"key: an alias of nothing (T-41)", "key-provider", `{"aliasName":"alias/app"}`,
			[]reply{{[]string{"ListAliases"}, 0, `{"Aliases":[{"AliasName":"alias/app"}]}`}}, "", "no KMS key with the alias alias/app"},

		{"resources: one by id, always a list (T-43)", "cc-api-provider", `{"typeName":"T","exactIdentifier":"i","propertiesToReturn":["A.B","Gone"]}`,
			[]reply{{[]string{"GetResource", `"Identifier":"i"`}, 0, `{"ResourceDescription":{"Identifier":"i","Properties":"{\"A\":{\"B\":1},\"C\":2}"}}`}},
			`[{"Identifier":"i","A.B":1}]`, ""},
		{"resources: by property (T-42)", "cc-api-provider", `{"typeName":"T","propertyMatch":{"A.B":"x","N":1},"propertiesToReturn":[]}`,
			[]reply{models(`{"A":{"B":"x"},"N":1}`, `{"A":{"B":"x"},"N":2}`, `{"A":"x"}`)}, `[{"A":{"B":"x"},"N":1,"Identifier":"id1"}]`, ""},
		{"resources: exactly one is expected (T-42)", "cc-api-provider", `{"typeName":"T","propertiesToReturn":[]}`, []reply{models(`{}`, `{}`)}, "", "there are 2 of T"},
		{"resources: at most one (T-42)", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"at-most-one","propertiesToReturn":[]}`, []reply{models()}, `[]`, ""},
		{"resources: at most one, two (T-42)", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"at-most-one","propertiesToReturn":[]}`, []reply{models(`{}`, `{}`)}, "", "there are 2 of T"},
		{"resources: at least one (T-42)", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"at-least-one","propertiesToReturn":["Identifier"]}`, []reply{models(`{}`, `{}`)}, `[{"Identifier":"id1"},{"Identifier":"id2"}]`, ""},
		{"resources: at least one, none (T-42)", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"at-least-one","propertiesToReturn":[]}`, []reply{models()}, "", "there is no T"},
		{"resources: any (T-42)", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"any","propertiesToReturn":[]}`, []reply{models()}, `[]`, ""},
		{"resources: the dummy comes before the count (T-43)", "cc-api-provider", `{"typeName":"T","exactIdentifier":"i","propertiesToReturn":["A"],"ignoreErrorOnMissingContext":true,"dummyValue":[{"A":"d"}]}`,
			[]reply{{[]string{"GetResource"}, 400, `{"__type":"ResourceNotFoundException"}`}}, `[{"A":"d"}]`, ""},
		{"resources: not a count", "cc-api-provider", `{"typeName":"T","expectedMatchCount":"two"}`, []reply{models()}, "", `"two", which is not known`},

		{"endpoint service (T-44)", "endpoint-service-availability-zones", `{"serviceName":"s"}`,
			[]reply{{[]string{"Action=DescribeVpcEndpointServices", "ServiceName.1=s"}, 0, xmlOf("DescribeVpcEndpointServices",
				`<serviceDetailSet><item><serviceName>s</serviceName><availabilityZoneSet><item>eu-west-1b</item><item>eu-west-1a</item></availabilityZoneSet></item></serviceDetailSet>`)}},
			`["eu-west-1a","eu-west-1b"]`, ""},
		{"plugin (T-44)", "plugin", `{"pluginName":"mine"}`, nil, "", `plugin "mine"`},
		{"unknown (T-24)", "astrology", `{}`, nil, "", `context provider "astrology" is not known`},
	} {
		t.Run(q.name, func(t *testing.T) {
			server := httptest.NewServer(cloud{t, q.answers})
			defer server.Close()
			q.run(t, at(server.URL))
		})
	}
}

func TestAnswersKeepTheOrderOfTheQuestions(t *testing.T) { // T-25, T-26
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o, err := value.ParseObject(body)
		if err != nil {
			t.Error(err)
		}
		// The region is in the signature.
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		fmt.Fprintf(w, `{"Parameter":{"Value":"%s in %s"}}`, o.String("Name"), strings.Split(scope, "/")[2])
	}))
	defer server.Close()
	var questions []assembly.Missing
	var want, got []string
	for i := range 30 {
		name, region := fmt.Sprint("p", i), ""
		props := value.NewObject("parameterName", name)
		if i%2 == 1 {
			region = "us-west-2"
			props.Set("region", region)
		} else {
			region = "eu-west-1"
		}
		questions = append(questions, assembly.Missing{Key: name, Provider: "ssm", Props: props})
		want = append(want, fmt.Sprintf("%s: %s in %s", name, name, region))
	}
	for _, a := range at(server.URL).Answers(t.Context(), questions) {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		got = append(got, fmt.Sprintf("%s: %s", a.Key, a.Value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersWithoutARegionOrAContext(t *testing.T) {
	s := at("http://127.0.0.1:1")
	s.Region = ""
	if _, err := ask(t, s, "availability-zones", `{}`); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := at("http://127.0.0.1:1").Answers(ctx, []assembly.Missing{{Key: "k", Provider: "availability-zones", Props: value.NewObject()}})
	if !errors.Is(a[0].Err, context.Canceled) {
		t.Errorf("got %v", a[0].Err)
	}
}

// A question that names an account is asked with the credentials for that.
func TestQuestionsAreAskedInTheirAccount(t *testing.T) {
	for props, want := range map[string]string{
		`{"account": "222222222222", "region": "eu-west-1"}`: "222222222222 eu-west-1",
		`{"region": "us-east-1"}`:                            " us-east-1",
	} {
		asked := ""
		s := &lookup.Source{Config: func(account, region string) aws.Config {
			asked = account + " " + region
			return aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "s", ""), RetryMaxAttempts: 1,
				HTTPClient: &http.Client{Transport: http.NewFileTransport(http.Dir(t.TempDir()))}}
		}}
		if _, err := ask(t, s, "availability-zones", props); err == nil || asked != want {
			t.Errorf("%s is asked in %q (%v), want %q", props, asked, err, want)
		}
	}
}
