package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// An app may have a stack of one name in each of several regions. Each has a record
// and a lock of its own, is made in its region while the state is in one bucket, and is
// told apart by what the app calls it (T-62, T-71, T-1202, T-1203).
func TestStacksOfOneNameInTwoRegions(t *testing.T) {
	e, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"version": "48.0.0", "artifacts": {
			"Far": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/eu-west-1", "displayName": "Far", "dependencies": ["Near"], "properties": {"templateFile": "far.json", "stackName": "Shop"}},
			"Near": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-east-1", "displayName": "Near", "properties": {"templateFile": "near.json", "stackName": "Shop"}}}}`,
		"near.json": `{"Parameters": {"Words": {"Type": "String", "Default": "none"}}, "Resources": {"T": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Words"}}}}}`,
		"far.json":  `{"Parameters": {"Words": {"Type": "String", "Default": "none"}}, "Resources": {"T": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Words"}}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := deployAll(dir)
	opt.Parameters = map[string]string{"Near:Words": "near", "Far:Words": "far"}
	outcomes := func(run *result.Run) (all []string) {
		for _, s := range run.Stacks {
			all = append(all, s.Name+" "+s.Region+" "+string(s.Outcome))
		}
		return all
	}
	run, err := e.Deploy(t.Context(), opt)
	if diff := cmp.Diff([]string{"Shop eu-west-1 success", "Shop us-east-1 success"}, outcomes(run)); err != nil || diff != "" {
		t.Fatalf("%v, deploy (-want +got):\n%s", err, diff)
	}
	for region, word := range map[string]string{"us-east-1": "near", "eu-west-1": "far"} {
		o, there := cloud.S3.Object(bucket, "cdkd/Shop/"+region+"/state.json")
		if !there || !strings.Contains(string(o.Body), `"DisplayName": "`+word+`"`) || !strings.Contains(string(o.Body), "arn:aws:sns:"+region+":") {
			t.Errorf("the record of %s is there: %t\n%s", region, there, o.Body)
		}
	}
	locks := func(in string) int {
		return slices.IndexFunc(cloud.Log(), func(r sandbox.Request) bool {
			return r.Action == "PutObject" && strings.HasSuffix(r.Resource, "Shop/"+in+"/lock.json")
		})
	}
	if near, far := locks("us-east-1"), locks("eu-west-1"); near < 0 || far < near {
		t.Errorf("the stack that the other depends on was locked by request %d, the other by %d", near, far)
	}
	run, err = e.Deploy(t.Context(), opt)
	if diff := cmp.Diff([]string{"Shop eu-west-1 no-change", "Shop us-east-1 no-change"}, outcomes(run)); err != nil || diff != "" {
		t.Errorf("%v, deployed again (-want +got):\n%s", err, diff)
	}

	far := engine.Selection{Assembly: dir, Selection: assembly.Selection{Patterns: []string{"Far"}, Exclusively: true}}
	destroyed, err := e.Destroy(t.Context(), engine.DestroyOptions{Selection: far, StackConcurrency: 1, ResourceTimeout: opt.ResourceTimeout})
	if diff := cmp.Diff([]string{"Shop eu-west-1 success"}, outcomes(destroyed)); err != nil || diff != "" {
		t.Errorf("%v, destroy of one (-want +got):\n%s", err, diff)
	}
	if _, there := cloud.S3.Object(bucket, "cdkd/Shop/us-east-1/state.json"); !there {
		t.Error("the other one's record is gone")
	}

	list, err := e.List(t.Context(), engine.Selection{Assembly: dir})
	if err != nil || len(list) != 2 || list[0].ID != "Near" || list[1].ID != "Far" || list[1].Wave != 1 || !slices.Equal(list[1].After, []string{"Near"}) {
		t.Errorf("list: %v, %+v", err, list)
	}
}
