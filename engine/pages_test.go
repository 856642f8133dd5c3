package engine

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/guide/guidetest"
	"github.com/org/cdkd-action/engine/lookup"
	"github.com/org/cdkd-action/engine/macro"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
	"github.com/org/cdkd-action/engine/template"
)

var update = flag.Bool("update", false, "write what failures look like into the pages of docs/errors")

// fromAWS is what the SDK makes of an error that a service answered with.
func fromAWS(service, operation string, status int, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: message},
	}}
}

// The kinds of failures that are told by their types, each with what it looks like.
// What stands in the pages is written from them.
func TestPages(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	unreached := &smithy.OperationError{ServiceID: "STS", OperationName: "GetCallerIdentity",
		Err: &smithyhttp.RequestSendError{Err: errors.New(`Post "https://sts.eu-wst-1.amazonaws.com/": dial tcp: lookup sts.eu-wst-1.amazonaws.com: no such host`)}}
	expired := fromAWS("S3", "PutObject", 400, "ExpiredToken", "The provided token has expired.")
	for page, err := range map[guide.Page]error{
		guide.Credentials: &CredentialsError{fromAWS("STS", "GetCallerIdentity", 403, "ExpiredToken", "The security token included in the request is expired")},
		guide.Network:     &CredentialsError{unreached},
		guide.WrongRegion: &provider.RegionError{LogicalID: "Orders", Client: "us-east-1", Recorded: "eu-west-1"},

		guide.StackSelection: &assembly.SelectionError{Reason: "no stack matches Shopp", Available: []string{"ShopStorage", "ShopOrders"}},
		guide.StackName:      checkName("Shop_1"),
		guide.SecretInName:   &SecretNameError{"Shop-***"},
		guide.SeveralRegions: inSeveral("stack Shop is recorded", []string{"eu-west-1", "us-east-1"}),

		guide.NoProgram:  &synth.NoProgramError{Program: "sh", Command: "npx ts-node bin/app.ts"},
		guide.AppFailed:  &synth.AppError{Command: "npx ts-node bin/app.ts", Dir: "/github/workspace", Code: 1, Status: "exit status 1", Stderr: "Error: Cannot find module 'aws-cdk-lib'"},
		guide.AppTimeout: &synth.TimeoutError{Command: "npx ts-node bin/app.ts", Dir: "/github/workspace", After: time.Hour},
		guide.AppErrors: &SynthError{What: "the app reports errors: [Error at /Shop/Orders] queues need a dead letter queue",
			Next: "mend what the app complains about and synthesize it again"},
		guide.NoAssembly:         &synth.NoAssemblyError{Command: "npm run build", Dir: "/github/workspace", Output: "cdk.out"},
		guide.AssemblyUnreadable: &assembly.Faults{Dir: "cdk.out", List: []assembly.Fault{{File: "manifest.json", Text: "there is no such file"}}},
		guide.LookupFailed: &synth.LookupError{Dir: "/github/workspace", Answers: []lookup.Answer{{
			Missing: assembly.Missing{Key: "vpc-provider:account=111122223333:filter.tag:Name=main:region=eu-west-1"}, Err: &lookup.NotFoundError{What: "VPC with tag Name main"}}}},
		guide.MissingContext: &assembly.MissingError{Dir: "cdk.out", Missing: []assembly.Missing{{Key: "vpc-provider:account=111122223333:filter.tag:Name=main:region=eu-west-1"}}},

		guide.Template: &template.Faults{Template: "Shop.template.json", List: []template.Fault{{Path: "Resources.Fn.Properties.Role",
			Text: `there is no resource, parameter or pseudo parameter "Rol"`}}},
		guide.Reference:          &reference.Error{Doing: "resolve {{resolve:secretsmanager:shop/db:SecretString:password}}", Err: errors.New("the secret has no key password")},
		guide.MaskedValue:        &MaskedError{"attribute Value of Token (AWS::SSM::Parameter) is secret and only its mask is recorded: it can be used again after the resource was updated"},
		guide.Macro:              &template.MacroError{Template: "Shop.template.json", Macros: []string{"AWS::Serverless-2016-10-31"}},
		guide.CircularDependency: &graph.CycleError{Cycles: [][]string{{"Orders", "OrdersPolicy"}}},
		guide.UnsupportedType: &provider.PreflightError{Faults: []error{&provider.Unroutable{LogicalID: "Signal", Type: "AWS::CloudFormation::WaitCondition",
			Reason: "Cloud Control cannot manage it"}}},
		guide.UnknownProperty: &provider.PreflightError{Faults: []error{&provider.UnknownPropertyError{LogicalID: "Orders", Type: "AWS::SQS::Queue", Properties: []string{"VisibilityTimout"}}}},
		guide.PropertyValue:   &provider.BindError{Stack: "Shop", LogicalID: "Orders", Type: "AWS::SQS::Queue", Path: "DelaySeconds", Want: "a whole number", Got: "a list"},
		guide.ImportMissing:   &ImportError{Name: "shop-table", Region: "eu-west-1"},
		guide.ImportWithdrawn: &WithdrawnError{Stack: "ShopOrders", Region: "eu-west-1", Producer: "ShopStorage", Export: "shop-table"},
		guide.ExportInUse: &ExportInUseError{Stack: "ShopStorage", Region: "eu-west-1", Gone: []string{"shop-table"},
			Consumers: []state.Consumer{{Stack: "ShopOrders", Region: "eu-west-1", Exports: []string{"shop-table"}}}},
		guide.ExportTaken:       &ExportTakenError{Stack: "Shop", Region: "eu-west-1", Name: "shop-table", Holder: "Legacy"},
		guide.OutputsIncomplete: &OutputsError{Stack: "Shop", Errs: []error{&NoAttributeError{"Orders", "AWS::SQS::Queue", "Url"}}},

		guide.AssetSource: &asset.SourcesError{Faults: []error{errors.New("asset Code (a601f04b) of stack Shop: its source asset.a601f04b is not there")}},
		guide.AssetBucket: &asset.BucketError{Bucket: "cdk-hnb659fds-assets-111122223333-eu-west-1", Region: "eu-west-1",
			Reason: "does not exist; bootstrap the account and region", Err: fromAWS("S3", "HeadBucket", 404, "NotFound", "Not Found")},
		guide.AssetStorage:       &StorageError{Region: "eu-west-1", What: "there is no bucket cdkd-assets-111122223333-eu-west-1 (ASSET_STORAGE_MISSING)", Next: "make it again with bootstrap"},
		guide.ImageBuild:         &asset.ContainerError{Did: "build image api of stack Shop", Status: "exit status 1", Tail: "ERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully"},
		guide.NoContainerBuilder: &asset.BuilderError{Program: "docker", Err: errors.New("executable file not found in $PATH")},

		guide.NoStateBucket:     &state.NoBucketError{Bucket: "my-cdk-state"},
		guide.StateBucketDenied: &state.AccessError{Bucket: "my-cdk-state", Key: "cdkd/Shop/eu-west-1/state.json", Permission: "s3:GetObject", Err: fromAWS("S3", "GetObject", 403, "AccessDenied", "Access Denied")},
		guide.StateBucketFailed: &state.RequestError{Bucket: "my-cdk-state", Key: "cdkd/Shop/eu-west-1/state.json", Doing: "write", Err: errors.New("no answer within 30s")},
		guide.StateBucketForeign: &state.ForeignBucketError{Bucket: "cdk-state", AccountID: "111122223333",
			Err: fromAWS("S3", "HeadBucket", 403, "AccessDenied", "Access Denied")},
		guide.StateBucketSettings: &state.UnconfiguredError{Bucket: "my-cdk-state", Err: fromAWS("S3", "PutBucketPolicy", 403, "AccessDenied", "Access Denied")},
		guide.BucketsDiffer:       &state.DifferingError{From: "cdkd-state-111122223333-eu-west-1", To: "cdkd-state-111122223333", Keys: []string{"cdkd/Shop/eu-west-1/state.json"}},
		guide.InUse:               &UsedError{What: "the asset storage of eu-west-1", By: []string{"cdkd/Shop/eu-west-1/state.json"}},
		guide.LockHeld: &state.HeldError{Subject: "stack", Stack: "Shop", Region: "eu-west-1", Readable: true, Owner: "runner@gha-4711-1-0badcafe:1", Operation: "deploy",
			ExpiresAt: noon.Add(28 * time.Minute), Seen: noon, Attempts: 6},
		guide.LocksInTheWay:       &LockedError{Keys: []string{"cdkd/Shop/eu-west-1/lock.json"}},
		guide.LockLost:            fmt.Errorf("deploy stack Shop in eu-west-1: %w", errLost),
		guide.StateConflict:       &state.ConflictError{Key: "cdkd/Shop/eu-west-1/state.json", ETag: `"9b2cf535f27731c974343645a3985328"`},
		guide.RegisteredElsewhere: &state.RegisteredError{Stack: "Shop", Region: "eu-west-1", Prefix: "team-b", Ours: "cdkd", Key: "team-b/Shop/eu-west-1/state.json"},
		guide.RecordMalformed:     &state.MalformedError{Key: "cdkd/Shop/eu-west-1/state.json", Problems: []string{"not JSON: line 1: the JSON text ends too early"}},
		guide.RecordNewer:         &state.VersionError{Key: "cdkd/Shop/eu-west-1/state.json", Found: "12", Understood: "1 to 11"},
		guide.RecordNotSaved:      &RecordError{&state.RequestError{Bucket: "my-cdk-state", Key: "cdkd/Shop/eu-west-1/state.json", Doing: "write", Err: expired}},
		guide.OperationOpen: &InputError{What: "operations of an earlier run on Layer of stack Shop in eu-west-1 are still open",
			Next: "deploy, which settles them, and export then", Page: guide.OperationOpen},
		guide.OperationUnresolved: &UnresolvedError{Stack: "Shop", LogicalID: "Layer", Type: "AWS::Lambda::LayerVersion", Change: "create", At: noon,
			Because: "its type takes no tag and has no name to look up"},

		guide.ApprovalRequired: &ApprovalError{What: "this needs approval:\nRole (AWS::IAM::Role) in Shop: lambda.amazonaws.com may sts:AssumeRole", Next: "look at what would be done, and deploy again with approved-plan: 5b1f0e2c"},
		guide.PlanChanged: &PlanChangedError{What: "stack Shop in eu-west-1 was changed by another run since its plan was approved; nothing of it was touched",
			Next: "review what would be done now, and deploy again"},

		guide.AccessDenied: fmt.Errorf("create Orders (AWS::SQS::Queue): %w", fromAWS("SQS", "CreateQueue", 403, "AccessDenied",
			"User: arn:aws:sts::111122223333:assumed-role/deploy/gha is not authorized to perform: sqs:createqueue on resource: arn:aws:sqs:eu-west-1:111122223333:Shop-Orders")),
		guide.AlreadyExists: fmt.Errorf("create Table (AWS::DynamoDB::Table): %w", fromAWS("DynamoDB", "CreateTable", 400, "ResourceInUseException", "Table already exists: orders")),
		guide.AWSRefused:    fmt.Errorf("create Orders (AWS::SQS::Queue): %w", fromAWS("SQS", "CreateQueue", 400, "InvalidAttributeValue", "Invalid value for the parameter VisibilityTimeout.")),
		guide.Throttled:     fmt.Errorf("create Api (AWS::ApiGateway::RestApi): %w", fromAWS("API Gateway", "CreateRestApi", 429, "TooManyRequestsException", "Too Many Requests")),
		guide.Quota:         fmt.Errorf("create Vpc (AWS::EC2::VPC): %w", fromAWS("EC2", "CreateVpc", 400, "VpcLimitExceeded", "The maximum number of VPCs has been reached.")),
		guide.NameHeld: &state.NameHeldError{Stack: "Shop", Region: "eu-west-1", Holder: state.Holder{LogicalID: "Topic", Type: "AWS::SNS::Topic", Name: "Shop-Topic",
			PhysicalID: "arn:aws:sns:eu-west-1:111122223333:Shop-Topic"}},
		guide.NameTaken:             &NameTakenError{LogicalID: "Orders", Type: "AWS::SQS::Queue", Name: "orders", Stack: "Legacy", HolderID: "Queue", Region: "eu-west-1", OfApp: true},
		guide.NotStable:             fmt.Errorf("create Service (AWS::ECS::Service): %w", &provider.SettleError{What: "service shop", State: "IN_PROGRESS", After: 30 * time.Minute}),
		guide.CustomResource:        &customresource.FailedError{LogicalID: "Seed", Type: "Custom::Seed", Request: "Create", Reason: "relation \"orders\" does not exist"},
		guide.CustomResourceTimeout: &customresource.TimeoutError{LogicalID: "Seed", Type: "Custom::Seed", Request: "Create", After: time.Hour},
		guide.ResourceGone: &GoneError{Stack: "Shop", LogicalID: "Orders", Type: "AWS::SQS::Queue", PhysicalID: "https://sqs.eu-west-1.amazonaws.com/111122223333/orders",
			Err: errors.New("AWS.SimpleQueueService.NonExistentQueue")},
		guide.ResourceFailed: errors.New("create Site (Custom::CDKBucketDeployment): asset site of stack Shop: node_modules/.bin is a link to nothing"),
		guide.FailedEarlier: &RemakeError{LogicalID: "Database", Type: "AWS::RDS::DBInstance", PhysicalID: "shop-database", Because: "its data would be lost",
			Err: &provider.SettleError{What: "instance shop-database", State: "failed"}},
		guide.ReplacementRefused: &ReplacementError{LogicalID: "Orders", Type: "AWS::DynamoDB::Table", PhysicalID: "orders", Properties: []string{"KeySchema"},
			Because: "its data would be lost", Next: "name the resource in force-stateful-recreation to lose its data, or set its UpdateReplacePolicy to Retain to keep it"},
		guide.UpdateNotSupported:  &provider.UnsupportedUpdateError{Type: "AWS::ApiGateway::Deployment", LogicalID: "Deployment", Properties: []string{"StageDescription"}},
		guide.FinalSnapshot:       &SnapshotError{LogicalID: "Cache", Type: "AWS::ElastiCache::CacheCluster"},
		guide.NoEchoNotGiven:      &NotGivenError{LogicalID: "Database", Type: "AWS::RDS::DBInstance", Action: plan.Update, Parameters: []string{"DatabasePassword"}},
		guide.NoEchoNotComparable: &IncomparableError{LogicalID: "Token", Type: "AWS::SSM::Parameter", Property: "Name", Parameters: []string{"Suffix"}},
		guide.Interrupted:         &InterruptedError{Done: 7, Planned: 19},
		guide.Internal:            &routine.PanicError{Value: "runtime error: index out of range [3] with length 3"},

		guide.TerminationProtection: &ProtectedError{"Shop"},
		guide.ImportRefused: &ImportRefusedError{Stack: "Shop", Region: "eu-west-1", Resources: []ImportedResource{{LogicalID: "Topic", Type: "AWS::SNS::Topic",
			PhysicalID: "arn:aws:sns:us-east-1:111122223333:orders", Reason: "it is in us-east-1, and the stack in eu-west-1"}}, Next: "name the ids as AWS has them, in the account and region of the stack"},
		guide.ExportRefused:       &ExportRefusedError{Stack: "Shop", Region: "eu-west-1", Resources: []string{"Seed (Custom::Seed): CloudFormation cannot import the type"}},
		guide.CloudFormationStack: &FormedError{"Shop", "eu-west-1", "UPDATE_COMPLETE"},
		guide.CloudFormationFailed: &RetireError{Stack: "Shop", Region: "eu-west-1", CloudFormation: "Shop",
			Err: &cloudformation.Failed{Stack: "Shop", What: "update", Status: "UPDATE_ROLLBACK_COMPLETE", Reason: "Resource handler returned message: Access denied"}},
		guide.CloudFormationRefused: &cloudformation.NotRetirableError{Stack: "Shop", Reason: "it has termination protection",
			Next: "switch that off: aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name Shop"},
		guide.HandoverUnfinished: &HandoverError{"Shop", "eu-west-1", state.Handover{Direction: state.FromCloudFormation, Step: state.Retaining, Stack: "Shop", Since: noon.UnixMilli()}},
		guide.ReferencesUnread:   &ReferencesError{Stack: "Shop", Region: "eu-west-1", References: []string{"Worker properties.Queue: Fn::GetAtt Orders.Arn"}},
		guide.PermissionsUnchecked: &SimulationError{fromAWS("IAM", "SimulatePrincipalPolicy", 403, "AccessDenied",
			"User: arn:aws:sts::111122223333:assumed-role/deploy/gha is not authorized to perform: iam:SimulatePrincipalPolicy")},
	} {
		t.Run(string(page), func(t *testing.T) {
			if got := cmp.Or(Page(err), guide.ResourceFailed); got != page { // as of a resource that failed
				t.Errorf("%v has the page %q", err, got)
			}
			if _, reason := Classify(err); page != guide.ResourceFailed && page != guide.Interrupted && (reason == result.ReasonInternal) != (page == guide.Internal) {
				t.Errorf("%v has the reason %q: only a fault of the program is internal (G-8.4)", err, reason)
			}
			looks := err.Error() + "\n"
			if remedy := Remedy(err); remedy != "" {
				looks += "what to do: " + remedy + "\n"
			}
			looks += "see " + page.URL("") + "\n"
			if *update {
				if err := guidetest.SetExample(page, looks); err != nil {
					t.Fatal(err)
				}
			}
			if have, err := guidetest.Example(page); err != nil || have != looks {
				t.Errorf("docs/errors/%s.md shows it otherwise (go test ./engine -run TestPages -update): %v\n%s\nwant\n%s", page, err, have, looks)
			}
		})
	}
}

// What wraps a failure, and what it wraps, do not take its page away.
func TestPageOfWhatIsWrapped(t *testing.T) {
	denied := fromAWS("SQS", "CreateQueue", 403, "AccessDenied", "no")
	for _, tt := range []struct {
		name string
		err  error
		want guide.Page
	}{
		{"a resource that failed", &ResourcesError{Failed: 1, First: fmt.Errorf("create Q: %w", denied)}, guide.AccessDenied},
		{"one of a nested stack", &NestedError{"S~N", &ResourcesError{Failed: 1, First: &GoneError{Err: denied}}}, guide.ResourceGone},
		{"made, and then failed", &provider.PartialError{Err: denied}, guide.AccessDenied},
		{"through Cloud Control", &cloudcontrol.FailedError{Code: types.HandlerErrorCodeAccessDenied}, guide.AccessDenied},
		{"a quota, through Cloud Control", &cloudcontrol.FailedError{Code: types.HandlerErrorCodeServiceLimitExceeded}, guide.Quota},
		{"not stable, through Cloud Control", &cloudcontrol.FailedError{Code: types.HandlerErrorCodeNotStabilized}, guide.NotStable},
		{"a type that Cloud Control does not take", &cloudcontrol.UnsupportedTypeError{Err: denied}, guide.UnsupportedType},
		{"a macro that may not be expanded", &macro.Error{Err: denied}, guide.Macro},
		{"a lock met in an export", &ExportError{Err: &state.HeldError{}}, guide.LockHeld},
		{"credentials that ran out before the record was saved", &RecordError{fromAWS("S3", "PutObject", 400, "ExpiredToken", "")}, guide.RecordNotSaved},
		{"a signal", fmt.Errorf("x: %w", context.Canceled), guide.Interrupted},
		{"an input", fmt.Errorf("x: %w", &InputError{}), guide.Inputs},
		{"an input with a page of its own", fmt.Errorf("x: %w", &InputError{Page: guide.AppDiffers}), guide.AppDiffers},
		{"an app that is no app", &synth.NoAppError{}, guide.NoApp},
		{"stacks in a circle", &assembly.CycleError{}, guide.CircularDependency},
		{"what nobody knows", errors.New("x"), ""},
	} {
		if got := Page(tt.err); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
