package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// newEngine builds the engine that the inputs ask for. It sends no request.
func (s *step) newEngine(ctx context.Context) (*engine.Engine, error) {
	aws, err := s.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	runs := ""
	if server, repo := s.surface.Getenv("GITHUB_SERVER_URL"), s.surface.Getenv("GITHUB_REPOSITORY"); server != "" && repo != "" {
		runs = server + "/" + repo + "/actions/runs"
	}
	return engine.New(engine.Config{
		AWS: aws,
		Bucket: state.Wanted{
			Input:       s.in.StateBucket,
			Environment: s.surface.Getenv("CDKD_STATE_BUCKET"),
			CDKJSON:     s.cdkJSON().Object("context").Object("cdkd").String("stateBucket"),
		},
		Prefix:  s.in.StatePrefix,
		Owner:   state.NewOwner(s.surface.Getenv),
		RunsURL: runs,
		Version: "cdkd-action/" + version,
		Window:  s.window,
		Observe: s.observe,
		Secrets: s.secrets,
	}), nil
}

// regionName is the form of region names: eu-west-1, us-gov-east-1. It becomes
// part of host names.
var regionName = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)

func (s *step) awsConfig(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(httpClient()),
		config.WithLogger(logging.LoggerFunc(func(_ logging.Classification, format string, v ...any) { s.log.Debug().Msgf(format, v...) })),
	}
	if s.in.Region != "" {
		region := strings.ToLower(s.in.Region)
		if !regionName.MatchString(region) {
			return aws.Config{}, &engine.InputError{What: fmt.Sprintf("region: %q is not the name of an AWS region", s.in.Region), Next: "name one like eu-west-1"}
		}
		options = append(options, config.WithRegion(region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, &engine.CredentialsError{Err: err}
	}
	if s.in.Verbose {
		cfg.APIOptions = append(cfg.APIOptions, s.traceRequests)
	}
	if s.in.RoleARN != "" {
		if cfg.Region == "" {
			cfg.Region = "us-east-1" // of the STS that is asked
		}
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), s.in.RoleARN,
			func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = "cdkd-action" }))
	}
	return cfg, nil
}

// cdkJSON reads the app's cdk.json; one that is missing or broken counts as
// empty, as it does for the CDK.
func (s *step) cdkJSON() *value.Object {
	file := filepath.Join(s.in.WorkingDirectory, "cdk.json")
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	o := &value.Object{}
	if err == nil {
		o, err = value.ParseObject(b)
	}
	if err != nil {
		s.log.Warn().Msgf("%s is not used: %v", file, err)
		return nil
	}
	return o
}

// assembly finds the folder of the cloud assembly.
func (s *step) assembly() (string, error) {
	app := s.in.App
	if app == "" {
		app = s.surface.Getenv("CDKD_APP")
	}
	if app == "" {
		app = s.cdkJSON().String("app")
	}
	if app == "" {
		return "", &engine.InputError{
			What: "no app was named",
			Next: "name the folder of the cloud assembly with the input app, the variable CDKD_APP, or app in cdk.json",
		}
	}
	dir := app
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.in.WorkingDirectory, dir)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	return "", &engine.SynthError{
		What: fmt.Sprintf("app %q is no folder in %s; this version deploys synthesized apps and does not run them", app, s.in.WorkingDirectory),
		Next: "run `npx cdk synth` in an earlier step, and name the folder that it wrote, cdk.out by default",
	}
}

// routerOptions are the person's choices about layers.
func (s *step) routerOptions() (provider.RouterOptions, error) {
	o := provider.RouterOptions{AllowTypes: s.in.AllowUnsupportedTypes, PinCloudControl: s.in.PinCCAPI, AllowProperties: map[string][]string{}}
	for _, entry := range s.in.AllowUnsupportedProperties {
		i := strings.LastIndex(entry, ":")
		if i <= 0 || i == len(entry)-1 || strings.HasSuffix(entry[:i], ":") {
			return o, &engine.InputError{
				What: fmt.Sprintf("allow-unsupported-properties: %q is not Type:Property", entry),
				Next: "write it like AWS::S3::Bucket:AccelerateConfiguration",
			}
		}
		o.AllowProperties[entry[:i]] = append(o.AllowProperties[entry[:i]], entry[i+1:])
	}
	return o, nil
}
