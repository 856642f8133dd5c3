package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// How far the clock may be off. Others take our lock for expired, and we theirs,
// by our own clocks.
const (
	skewNoticed = time.Minute
	skewTooMuch = 5 * time.Minute // AWS refuses what is signed with it
)

// Doctor looks at what a deploy needs, and writes nothing. dir is the folder of
// the app's cloud assembly, "" when there is none to look at. What depends on
// something that failed is left out.
func (e *Engine) Doctor(ctx context.Context, dir string) []result.Finding {
	var app *assembly.Assembly
	var found []result.Finding
	if dir != "" {
		var err error
		if app, err = assembly.Read(dir); err == nil {
			err = e.secretsInNames(app.Stacks, nil)
		}
		if err != nil {
			app, found = nil, append(found, failing("assembly", err))
		} else {
			found = append(found, fine("assembly", "%s in %s", amount.Of(len(app.Stacks), "stack"), dir))
		}
	}
	account, identity := e.identify(ctx)
	found = append(append(found, identity...), e.regionFinding())
	if account == "" {
		return append(found, e.builderFinding(ctx, nil, app != nil))
	}
	needed, stacks := e.storageNeeded(ctx, app, account)
	found = append(found, stacks...)
	// Side by side, and told in this order.
	looks := []func() []result.Finding{
		func() []result.Finding { return e.examineBucket(ctx) },
		func() []result.Finding { return e.examineCloudFormation(ctx, app, account) },
		func() []result.Finding { return e.examineStorage(ctx, needed) },
		func() []result.Finding { return []result.Finding{e.builderFinding(ctx, needed, app != nil)} },
	}
	each := make([][]result.Finding, len(looks))
	var wg routine.Group
	for i, look := range looks {
		wg.Go(func() { each[i] = look() })
	}
	wg.Wait()
	return append(found, slices.Concat(each...)...)
}

func fine(subject, format string, args ...any) result.Finding {
	return result.Finding{Subject: subject, Verdict: result.OK, Text: fmt.Sprintf(format, args...)}
}

func failing(subject string, err error) result.Finding {
	_, reason := Classify(err)
	return result.Finding{Subject: subject, Verdict: result.Fail, Text: err.Error(), Remedy: Remedy(err), Reason: reason}
}

func doubtful(subject, text, remedy string) result.Finding {
	return result.Finding{Subject: subject, Verdict: result.Warn, Text: text, Remedy: remedy}
}

// identify finds out who is calling, and by AWS's answer what time it is.
func (e *Engine) identify(ctx context.Context) (account string, found []result.Finding) {
	out, err := e.callerIdentity(ctx)
	if err != nil {
		return "", []result.Finding{failing("credentials", &CredentialsError{Err: err})}
	}
	found = append(found, fine("credentials", "%s", aws.ToString(out.Arn)), fine("account", "%s", aws.ToString(out.Account)))
	there, known := awsmiddleware.GetServerTime(out.ResultMetadata)
	here, answered := awsmiddleware.GetResponseAt(out.ResultMetadata)
	if known && answered {
		found = append(found, clockFinding(here.Sub(there)))
	}
	return aws.ToString(out.Account), found
}

// clockFinding judges by how much our clock is ahead of AWS's, whose answers
// tell the time in whole seconds.
func clockFinding(ahead time.Duration) result.Finding {
	off := ahead.Abs().Round(time.Second)
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	f := fine("clock", "%s %s AWS's", off, direction)
	switch {
	case off < 2*time.Second:
		return fine("clock", "agrees with AWS's")
	case off >= skewTooMuch:
		f.Verdict, f.Reason = result.Fail, result.ReasonCredentials // AWS refuses what is signed at another time
	case off >= skewNoticed:
		f.Verdict = result.Warn
	default:
		return f
	}
	f.Remedy = "set the machine's clock, with NTP for example: locks expire by it"
	return f
}

func (e *Engine) regionFinding() result.Finding {
	if e.config.AWS.Region == "" {
		return doubtful("region", "none is named; stacks that name none go to "+e.defaultRegion(), "name one with the input region, AWS_REGION or a profile")
	}
	return fine("region", "%s", e.defaultRegion())
}

// storage is where the assets of an app go: the buckets and repositories, each
// as region/name.
type storage struct{ buckets, repositories []string }

// storageNeeded reads it off the stacks, which must be the account's.
func (e *Engine) storageNeeded(ctx context.Context, app *assembly.Assembly, account string) (*storage, []result.Finding) {
	if app == nil {
		return nil, nil
	}
	var found []result.Finding
	need := &storage{}
	elsewhere := func(s *assembly.Stack) bool { return s.AccountID != "" && s.AccountID != account }
	for _, s := range app.Stacks {
		if elsewhere(s) {
			f := doubtful("stack "+s.Name, "it is for account "+s.AccountID+", the credentials are of "+account, "deploy it with credentials of that account")
			if !slices.ContainsFunc(app.Stacks, func(s *assembly.Stack) bool { return !elsewhere(s) }) {
				f.Verdict, f.Reason = result.Fail, result.ReasonInput // there is none that could be deployed
			}
			found = append(found, f)
			continue
		}
		env := asset.Environment{Stack: s.Name, AccountID: account, Region: e.targetOf(s, nil).Region}
		manifest := e.placed(ctx, s.Assets, env)
		files, err := asset.Files(manifest, env)
		if err == nil {
			var images []*asset.Image
			images, err = asset.Images(manifest, env)
			for _, i := range images {
				need.repositories = append(need.repositories, i.Region+"/"+i.Repository)
			}
		}
		if err != nil {
			found = append(found, failing("stack "+s.Name, err))
		}
		for _, f := range files {
			need.buckets = append(need.buckets, f.Region+"/"+f.Bucket)
		}
	}
	for _, list := range []*[]string{&need.buckets, &need.repositories} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return need, found
}

// examineBucket looks at the state bucket and at what others do there.
func (e *Engine) examineBucket(ctx context.Context) []result.Finding {
	store, err := e.open(ctx)
	if err == nil {
		err = store.Check(ctx)
	}
	if err != nil {
		return []result.Finding{failing("state bucket", err)}
	}
	found := []result.Finding{fine("state bucket", "%s in %s", store.Bucket(), store.Region())}
	lacks, err := store.Lacks(ctx)
	for _, l := range lacks {
		remedy := "run bootstrap with force, with a role that may change the bucket"
		if l.Permission != "" {
			remedy = "allow " + l.Permission + " on the bucket"
		}
		found = append(found, doubtful("versioning", l.Text, remedy))
	}
	switch {
	case err != nil:
		found = append(found, failing("versioning", err))
	case lacks == nil:
		found = append(found, fine("versioning", "the bucket keeps versions, and has a policy"))
	}
	return append(found, append(e.examineLocks(ctx, store), e.examineRegistry(ctx, store)...)...)
}

func (e *Engine) examineLocks(ctx context.Context, store *state.Store) []result.Finding {
	locks, err := store.Locks(ctx)
	if err != nil {
		return []result.Finding{failing("locks", err)}
	}
	var found []result.Finding
	for _, l := range locks {
		switch {
		case l.Err != nil:
			found = append(found, failing("lock of "+l.Stack, l.Err))
		case l.Lock != nil && !l.Lock.Expired(time.Now()):
			held := store.Stack(l.Stack, l.Region).Held(*l.Lock)
			found = append(found, doubtful("lock of "+l.Stack, held.Error(), held.Remedy()))
		}
	}
	if found == nil {
		found = append(found, fine("locks", "no stack is locked"))
	}
	return found
}

// examineRegistry looks whether what is recorded can be read, and is this prefix's.
func (e *Engine) examineRegistry(ctx context.Context, store *state.Store) []result.Finding {
	refs, traces, err := store.ListAll(ctx)
	if err != nil {
		return []result.Finding{failing("registry", err)}
	}
	found := append(examineRecords(ctx, store, refs, traces), examineHandovers(ctx, store, traces)...)
	whole := len(found)
	for i, err := range store.LookUp(ctx, refs) {
		if err != nil {
			found = append(found, failing("registry of "+refs[i].Stack, err))
		}
	}
	if len(found) == whole {
		found = append(found, fine("registry", "%s %s recorded under the prefix %s, and under no other", amount.Of(len(refs), "stack"), amount.Form(len(refs), "is", "are"), store.Prefix()))
	}
	return found
}

// examineRecords reads what the next deploy of every stack would go on from.
func examineRecords(ctx context.Context, store *state.Store, refs []state.Ref, traces []state.Trace) (found []result.Finding) {
	all := slices.Clone(refs)
	for _, t := range traces {
		if !slices.Contains(all, t.Ref) {
			all = append(all, t.Ref)
		}
	}
	for i, errs := range store.Examine(ctx, all) {
		for _, err := range errs {
			found = append(found, failing("state of "+all[i].Stack, err))
		}
	}
	if found == nil {
		found = append(found, fine("state", "everything recorded of %s can be read", amount.Of(len(all), "stack")))
	}
	return found
}

// examineHandovers names the stacks that are on their way from CloudFormation or to
// it.
func examineHandovers(ctx context.Context, store *state.Store, traces []state.Trace) (found []result.Finding) {
	for _, t := range traces {
		if !t.Handover {
			continue
		}
		if err := notHandedOver(ctx, store.Stack(t.Stack, t.Region)); err != nil {
			found = append(found, failing("handover of "+t.Stack, err))
		}
	}
	return found
}

// examineStorage looks for what the app's assets go to; without an app, for what
// they would go to: what bootstrap made in the region, or what the CDK's does.
func (e *Engine) examineStorage(ctx context.Context, need *storage) []result.Finding {
	const subject = "asset storage"
	var found []result.Finding
	missing := result.Fail
	if need == nil {
		var err error
		if need, err = e.ownStorage(ctx); err != nil && !is[*state.NoBucketError](err) { // which is said of the state bucket
			return []result.Finding{failing(subject, err)}
		}
	}
	if need == nil {
		account, _ := e.account(ctx) // it is known by now
		need = &storage{buckets: []string{e.defaultRegion() + "/cdk-hnb659fds-assets-" + account + "-" + e.defaultRegion()}}
		missing = result.Warn // nobody knows whether it is needed
	}
	look := func(what, permission string, places []string, ask func(region, name string) error) {
		for _, place := range places {
			region, name, _ := strings.Cut(place, "/")
			err := ask(region, name)
			if err == nil {
				continue
			}
			f := result.Finding{Subject: subject, Verdict: missing, Reason: result.ReasonResource}
			f.Text, f.Remedy = fmt.Sprintf("%s %s in %s: %v", what, name, region, err), Remedy(err)
			switch response, _ := errors.AsType[*smithyhttp.ResponseError](err); {
			case is[*s3types.NotFound](err), is[*ecrtypes.RepositoryNotFoundException](err):
				f.Text = fmt.Sprintf("there is no %s %s in %s", what, name, region)
				f.Remedy = "run `cdk bootstrap` for the account and region, or bootstrap with assets"
			case response != nil && response.HTTPStatusCode() == http.StatusForbidden, provider.AccessDenied(err):
				f.Remedy = fmt.Sprintf("allow %s on it, if it is this account's", permission)
			}
			found = append(found, f)
		}
	}
	publisher := e.publisher("")
	look("bucket", "s3:ListBucket", need.buckets, func(region, name string) error {
		_, err := publisher.Client(region).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
		return err
	})
	look("repository", "ecr:DescribeRepositories", need.repositories, func(region, name string) error {
		_, err := publisher.Repositories(region).DescribeRepositories(ctx, &ecr.DescribeRepositoriesInput{RepositoryNames: []string{name}})
		return err
	})
	switch all := slices.Concat(need.buckets, need.repositories); {
	case found != nil:
	case len(all) == 0:
		found = append(found, fine(subject, "no stack has assets"))
	default:
		found = append(found, fine(subject, "%s", strings.Join(all, ", ")))
	}
	return found
}

// ownStorage is what bootstrap made in the region, nil where it made nothing that
// would be used.
func (e *Engine) ownStorage(ctx context.Context) (*storage, error) {
	if e.config.CDKStorage {
		return nil, nil
	}
	store, err := e.open(ctx)
	if err != nil {
		return nil, nil // it is said of the state bucket
	}
	region := e.defaultRegion()
	a, err := store.AssetStorage(ctx, region)
	if a == nil || err != nil {
		return nil, err
	}
	return &storage{buckets: []string{region + "/" + a.AssetBucket}, repositories: []string{region + "/" + a.ContainerRepo}}, nil
}

// builderFinding looks for what builds images.
func (e *Engine) builderFinding(ctx context.Context, need *storage, known bool) result.Finding {
	if known && (need == nil || len(need.repositories) == 0) {
		return fine("docker", "no stack has an image to build")
	}
	program, err := e.publisher("").Builder(ctx)
	if err == nil {
		return fine("docker", "%s answers", program)
	}
	f := failing("docker", err)
	if !known {
		f.Verdict = result.Warn
	}
	if f.Remedy == "" {
		f.Remedy = "start its daemon; it is needed for images that are not in their repository yet"
	}
	return f
}
