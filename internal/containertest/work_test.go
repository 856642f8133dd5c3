package containertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A work is something that a deploy is in the middle of.
type work struct {
	name      string
	resources object            // beside the queues
	queues    int               // how many queues the stack has
	others    int               // and resources made by Cloud Control
	assets    object            // the asset manifest, nil for none
	options   sandbox.Options   // of the AWS
	app       string            // "" for cdk.out
	arrange   func(*scene)      // before the deploy
	begun     func(*scene) bool // tells whether the deploy is in the middle of it
	release   func(*scene)      // afterwards, for the next run
	noLock    bool              // the deploy has none of its own then
	open      string            // the resource that is pending then
	recorded  bool              // as made, so that nothing is known of that after a kill
	once      [2]string         // the service and the action that are asked once, by both runs
}

type object = map[string]any

// A scene is one deploy that is disturbed.
type scene struct {
	*awsAccount
	t     *testing.T
	faded chan struct{} // closes when what held the deploy lets go
	ids   []string      // of faults
}

const (
	stack = "Work"
	place = "us-east-1" // the emulator knows functions nowhere else
)

func (s *scene) fault(f sandbox.Fault) { s.ids = append(s.ids, s.AddFault(f)) }

// asked tells whether so many calls have come as far as a state.
func (s *scene) asked(n int, service, action string, states ...sandbox.State) bool {
	for _, r := range s.Log() {
		if r.Service == service && r.Action == action && slices.Contains(states, r.State) {
			n--
		}
	}
	return n <= 0
}

func (s *scene) file(name string) string { return filepath.Join(s.job.Workspace, name) }

func (s *scene) exists(name string) bool {
	_, err := os.Stat(s.file(name))
	return err == nil
}

func (s *scene) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.file(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.file(name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// writeApp lays out the cloud assembly of a work.
func (s *scene) writeApp(w work, dir string) {
	s.t.Helper()
	resources := object{}
	for i := range w.queues {
		resources[fmt.Sprintf("Queue%02d", i+1)] = object{"Type": "AWS::SQS::Queue", "Properties": object{"DelaySeconds": 1}}
	}
	for id, r := range w.resources {
		resources[id] = r
	}
	artifact := object{"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region",
		"properties": object{"templateFile": "Work.template.json"}}
	artifacts := object{stack: artifact}
	files := map[string]any{"Work.template.json": object{"Resources": resources}}
	if w.assets != nil {
		artifacts["Work.assets"] = object{"type": "cdk:asset-manifest", "properties": object{"file": "Work.assets.json"}}
		artifact["dependencies"] = []string{"Work.assets"}
		files["Work.assets.json"] = w.assets
		s.write(filepath.Join(dir, "image", "Dockerfile"), "FROM scratch\n")
	}
	files["manifest.json"] = object{"version": "48.0.0", "artifacts": artifacts}
	for name, v := range files {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(filepath.Join(dir, name), string(text))
	}
}

// live are the logical ids of the queues that AWS has.
func (s *scene) live() []string {
	s.t.Helper()
	var ids []string
	pages := sqs.NewListQueuesPaginator(sqs.NewFromConfig(s.Config()), &sqs.ListQueuesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, u := range page.QueueUrls {
			ids = append(ids, strings.TrimPrefix(u[strings.LastIndex(u, "/")+1:], stack+"-"))
		}
	}
	slices.Sort(ids)
	return ids
}

// forgotten are the queues that AWS has and nothing in the state bucket names.
func (s *scene) forgotten() []string {
	var known strings.Builder
	for _, o := range s.S3.Objects(bucket) {
		switch name := o.Key[strings.LastIndex(o.Key, "/")+1:]; name {
		case "state.json", "pending.json", "create-tokens.json", "rollback-journal.json":
			known.Write(o.Body)
		}
	}
	return slices.DeleteFunc(s.live(), func(id string) bool { return strings.Contains(known.String(), `"`+id+`"`) })
}

const (
	imageTag  = "0000000000000000000000000000000000000000000000000000000000000abc"
	imageRepo = "cdk-hnb659fds-container-assets-${AWS::AccountId}-${AWS::Region}"
	lockKey   = "cdkd/" + stack + "/" + place + "/lock.json"
)

var trust = object{"Version": "2012-10-17", "Statement": []any{
	object{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": object{"Service": "lambda.amazonaws.com"}}}}

// works are the rows of the table, each at a moment that can be told.
var works = []work{
	{
		name: "idle, waiting for another run's lock", queues: 2, noLock: true,
		arrange: func(s *scene) {
			s.S3.PutObject(bucket, lockKey, fmt.Appendf(nil, `{"owner":"somebody-else","timestamp":1,"expiresAt":%d,"operation":"deploy"}`, time.Now().Add(time.Hour).UnixMilli()))
		},
		begun: func(s *scene) bool { return s.asked(2, "s3", "PutObject", sandbox.Done) },
		release: func(s *scene) {
			if o, ok := s.S3.Object(bucket, lockKey); !ok || !strings.Contains(string(o.Body), "somebody-else") {
				s.t.Errorf("the lock of another run was touched: %s", o.Body)
			}
			s.S3.PutObject(bucket, lockKey, []byte(`{"owner":"somebody-else","timestamp":1,"expiresAt":2}`)) // it has expired by then
		},
	},
	{
		name: "creating 48 resources", queues: 48,
		arrange: func(s *scene) { s.SetLatency("sqs", "CreateQueue", time.Second) },
		begun:   func(s *scene) bool { return s.asked(15, "sqs", "CreateQueue", sandbox.Done) },
		release: func(s *scene) { s.SetLatency("sqs", "CreateQueue", 0) },
	},
	{
		name: "waiting on a 10-minute resource", queues: 4,
		resources: object{"Table": object{"Type": "AWS::DynamoDB::Table", "Properties": object{
			"KeySchema":            []any{object{"AttributeName": "id", "KeyType": "HASH"}},
			"AttributeDefinitions": []any{object{"AttributeName": "id", "AttributeType": "S"}},
			"BillingMode":          "PAY_PER_REQUEST",
		}}},
		// It is not ready for as long as this run looks.
		arrange: func(s *scene) {
			s.fault(sandbox.Fault{Service: "dynamodb", Action: "DescribeTable", Replace: [2]string{`"ACTIVE"`, `"CREATING"`}})
		},
		begun: func(s *scene) bool {
			return s.asked(1, "dynamodb", "CreateTable", sandbox.Done) && s.asked(2, "dynamodb", "DescribeTable", sandbox.Done)
		},
		open: "Table", recorded: true, once: [2]string{"dynamodb", "CreateTable"},
	},
	{
		name: "in a custom resource", queues: 4,
		resources: object{
			"Role": object{"Type": "AWS::IAM::Role", "Properties": object{"AssumeRolePolicyDocument": trust}},
			"Handler": object{"Type": "AWS::Lambda::Function", "Properties": object{
				"Role": object{"Fn::GetAtt": []any{"Role", "Arn"}}, "Runtime": "nodejs22.x", "Handler": "index.handler", "Code": object{"ZipFile": "exports.handler = async () => {}"}}},
			"Custom": object{"Type": "Custom::Thing", "Properties": object{"ServiceToken": object{"Fn::GetAtt": []any{"Handler", "Arn"}}}},
		},
		arrange: func(s *scene) {
			s.Handle("*", func(ctx context.Context, event map[string]any) (any, error) {
				if !sandbox.IsCustomResource(event) {
					return nil, nil
				}
				select {
				case <-s.faded:
					return nil, sandbox.Respond(ctx, event, map[string]any{"PhysicalResourceId": "thing"})
				default:
				}
				go func() { // it answers in the end, whoever still listens
					<-s.faded
					_ = sandbox.Respond(context.WithoutCancel(ctx), event, map[string]any{"PhysicalResourceId": "thing"})
				}()
				return nil, nil
			})
		},
		begun: func(s *scene) bool { return s.asked(1, "lambda", "Invoke", sandbox.Done) },
		open:  "Custom", once: [2]string{"lambda", "Invoke"},
	},
	{
		name: "in Cloud Control", queues: 4,
		resources: object{"Slow": object{"Type": "AWS::AppConfig::Application", "Properties": object{"Name": "slow"}}},
		options:   sandbox.Options{ProgressDelay: 20 * time.Second}, others: 1,
		begun: func(s *scene) bool {
			return s.asked(1, "cloudcontrolapi", "CreateResource", sandbox.Done) && s.asked(1, "cloudcontrolapi", "GetResourceRequestStatus", sandbox.Done)
		},
		open: "Slow",
	},
	{
		name: "synthesizing", queues: 2, noLock: true, app: "sh app.sh",
		arrange: func(s *scene) {
			s.write("app.sh", "mkdir -p \"$CDK_OUTDIR\" && touch \"$CDK_OUTDIR/begun\"\nwhile [ ! -e go ]; do sleep 0.1; done\ncp made/* \"$CDK_OUTDIR\"\n")
		},
		begun:   func(s *scene) bool { return s.exists("cdk.out/begun") },
		release: func(s *scene) { s.write("go", "") },
	},
	{
		name: "publishing an image", queues: 4,
		resources: object{"Image": object{"Type": "AWS::SSM::Parameter", "Properties": object{"Type": "String", "Name": "/image", "Value": object{
			"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/" + imageRepo + ":" + imageTag}}}},
		assets: object{"version": "48.0.0", "files": object{}, "dockerImages": object{imageTag: object{
			"source":       object{"directory": "image"},
			"destinations": object{"current": object{"repositoryName": imageRepo, "imageTag": imageTag}}}}},
		arrange: func(s *scene) {
			s.AddFault(sandbox.Fault{Service: "ecr", Action: "DescribeImages", Code: "ImageNotFoundException"})
			s.write("docker", "#!/bin/sh\ncase $1 in\nlogin) cat >/dev/null ;;\npush) touch /github/workspace/pushing; while [ ! -e /github/workspace/go ]; do sleep 0.1; done ;;\nesac\n")
			s.env["CDK_DOCKER"] = "/github/workspace/docker"
		},
		begun:   func(s *scene) bool { return s.exists("pushing") && s.asked(4, "sqs", "CreateQueue", sandbox.Done) },
		release: func(s *scene) { s.write("go", "") },
	},
	{
		name: "rolling back", queues: 6,
		resources: object{"Bad": object{"Type": "AWS::SNS::Topic", "DependsOn": []string{"Queue01", "Queue02", "Queue03", "Queue04", "Queue05", "Queue06"}, "Properties": object{}}},
		arrange: func(s *scene) {
			s.fault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Status: 403, Code: "AuthorizationError", Message: "not allowed"})
			s.fault(sandbox.Fault{Service: "sqs", Action: "DeleteQueue", Nth: 3, Hold: true, Drop: true})
		},
		begun: func(s *scene) bool { return s.asked(1, "sqs", "DeleteQueue", sandbox.Held) },
	},
	{
		name: "saving", queues: 40,
		arrange: func(s *scene) {
			s.SetLatency("sqs", "CreateQueue", time.Second)
			s.fault(sandbox.Fault{Service: "s3", Action: "PutObject", Mentions: stack + "/" + place + "/state.json", Nth: 2, Count: 1, Hold: true})
		},
		begun:   func(s *scene) bool { return s.asked(1, "s3", "PutObject", sandbox.Held) },
		release: func(s *scene) { s.SetLatency("sqs", "CreateQueue", 0) },
	},
}
