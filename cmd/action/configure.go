package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/synth"
)

// newEngine builds the engine that the inputs ask for. It sends no request.
func (s *step) newEngine(ctx context.Context, owner string) (*engine.Engine, error) {
	accounts, err := s.accounts(ctx)
	if err != nil {
		return nil, err
	}
	s.readProject()
	runs := ""
	if server, repo := s.surface.Getenv("GITHUB_SERVER_URL"), s.surface.Getenv("GITHUB_REPOSITORY"); server != "" && repo != "" {
		runs = server + "/" + repo + "/actions/runs"
	}
	return engine.New(engine.Config{
		AWS: accounts[0].AWS, RoleARN: accounts[0].RoleARN, Others: accounts[1:],
		Bucket: state.Wanted{
			Input:       s.in.StateBucket,
			Environment: s.surface.Getenv("CDKD_STATE_BUCKET"),
			CDKJSON:     s.project.Settings.String("stateBucket"),
		},
		CDKStorage: s.in.CDKStorage || s.project.Settings.Value("useCdkBootstrapAssets") == true,
		Prefix:     s.in.StatePrefix,
		Owner:      owner,
		NoOwnerTag: !s.in.OwnershipTag,
		RunsURL:    runs,
		Version:    "cdkd-action/" + version,
		Environ:    os.Environ(), Children: s.children,
		HandlerRetries: s.surface.Getenv("CDKD_CR_AUTHZ_MAX_RETRIES"), RecycleHandlers: s.in.RecycleHandlers,
		AssetPublishes: s.in.AssetPublishConcurrency, ImageBuilds: s.in.ImageBuildConcurrency,
		// Credentials are for publishing; those of the app are another matter.
		Environment: synth.EnvironmentOptions{Keep: s.in.SynthKeepEnv, Remove: s.in.SynthRemoveEnv},
		Window:      s.window,
		Observe:     s.observing.guard(s.observe),
		Secrets:     s.secrets,
	}), nil
}

// regionName is the form of region names: eu-west-1, us-gov-east-1. It becomes
// part of host names.
var regionName = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)

// accounts are those that the step works in: the one of its credentials, or that of
// each role to assume with them.
func (s *step) accounts(ctx context.Context) (all []engine.Account, err error) {
	source, err := s.sourceConfig(ctx)
	if err != nil || len(s.in.RoleARNs) == 0 {
		return []engine.Account{{AWS: source}}, err
	}
	for _, roleARN := range s.in.RoleARNs {
		role, err := arn.Parse(roleARN)
		if err != nil {
			return nil, &engine.InputError{What: fmt.Sprintf("role-arn: %q is no ARN", roleARN), Next: "name a role like arn:aws:iam::111122223333:role/deploy"}
		}
		cfg := source.Copy()
		s.assumeRole(ctx, &cfg, roleARN)
		all = append(all, engine.Account{ID: role.AccountID, AWS: cfg, RoleARN: roleARN})
	}
	return all, nil
}

// sourceConfig is the configuration with the credentials at hand, before a role
// is assumed with them.
func (s *step) sourceConfig(ctx context.Context) (aws.Config, error) {
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
	return cfg, nil
}

// readProject reads what the app's own files say.
func (s *step) readProject() {
	home, _ := os.UserHomeDir() // "" reads none
	s.project = synth.ReadProject(s.in.WorkingDirectory, home)
	for _, w := range s.project.Warnings {
		s.log.Warn().Msg(w)
	}
}

// assembly finds the folder of the cloud assembly; an app that is a command is
// run for it, and if the state is wanted, too, its bucket is opened meanwhile.
func (s *step) assembly(ctx context.Context, state bool) (string, error) {
	app, err := s.project.Resolve(s.in.App, s.surface.Getenv("CDKD_APP"))
	if err != nil || app.Assembly != "" {
		return app.Assembly, err
	}
	if looksLikeFolder(app.Command) {
		return "", &engine.InputError{
			What: noFolder(app.Command, s.in.WorkingDirectory),
			Next: "run `npx cdk synth` in an earlier step and name the folder that it wrote (cdk.out by default), or name the command that runs the app",
			Page: guide.NoApp,
		}
	}
	overrides, err := synth.ParseContext(s.in.Context)
	if err != nil {
		return "", err
	}
	output, err := s.project.OutputFolder(s.in.Output)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(s.in.WorkingDirectory)
	if err != nil {
		return "", err
	}
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	defer s.children.Close()
	s.log.Info().Msgf("running the app: %s", report.Line(app.Command))
	var made *synth.Result
	options := synth.Options{
		Command: app.Command, Dir: dir, Output: output, Context: s.project.Context, Overrides: overrides,
		Region: s.engine.Region(), Account: s.engine.Account, Config: s.engine.ConfigIn,
		Environ: os.Environ(), Stdout: s.children, Stderr: s.children,
		Environment: synth.EnvironmentOptions{Keep: s.in.SynthKeepEnv, Remove: s.in.SynthRemoveEnv, NoCredentials: !s.in.SynthCredentials},
		Validate:    s.in.SynthValidation, Timeout: s.in.SynthTimeout,
		Inform: func(text string) { s.log.Info().Msg(report.Line(text)) },
		Warn:   func(text string) { s.surface.Warning(ci.Annotation{Title: "Synthesis", Message: text}) },
	}
	synthesize := func(ctx context.Context) (err error) {
		made, err = synth.Synthesize(ctx, options)
		return err
	}
	if state {
		err = s.engine.Beside(ctx, synthesize)
	} else {
		err = synthesize(ctx)
	}
	if err != nil {
		return "", err
	}
	if len(made.Saved) > 0 {
		s.surface.Notice(ci.Annotation{
			Title:   "Context",
			Message: fmt.Sprintf("%s has new values of the account: commit it, so that the next run does not look them up again (%s)", made.ContextFile, strings.Join(made.Saved, ", ")),
		})
	}
	return made.Dir, nil
}

func noFolder(app, dir string) string {
	switch {
	case filepath.IsAbs(app):
		return fmt.Sprintf("app %q is no folder", app)
	case dir == ".":
		return fmt.Sprintf("app %q is no folder in the current directory", app)
	}
	return fmt.Sprintf("app %q is no folder in %s", app, dir)
}

// looksLikeFolder tells a folder that is not there from a command: a single
// word that no program is called by.
func looksLikeFolder(app string) bool {
	if strings.ContainsAny(app, " \t") {
		return false
	}
	_, err := exec.LookPath(app)
	return err != nil && !strings.HasSuffix(app, ".js")
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

// replacements are the person's word on resources that are made anew.
func (s *step) replacements() engine.Replacements {
	return engine.Replacements{
		DeleteFirst: s.in.Replace, LoseData: s.in.LoseData,
		Recreate: s.in.Recreate, ViaCloudControl: s.in.RecreateViaCC, ViaSDK: s.in.RecreateViaSDK,
	}
}
