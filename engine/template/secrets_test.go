package template_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

const token = "{{resolve:secretsmanager:db:SecretString:password::}}"

func TestSecretsHaveTwoForms(t *testing.T) { // T-294
	w := &world{
		refs:       map[string]any{"DB": "db", "Child": token},
		attributes: map[string]any{"DB.Answer": template.NoEcho{Value: json(t, `{"a": ["quiet"], "n": 7}`)}},
		dynamic: map[string]string{
			"secretsmanager:db:SecretString:password::": "s3cr3t!",
			"ssm:/plain": "public", "ssm:/secure": "hidden-text", "ssm-secure:/x:1": "other-secret",
		},
		secret: map[string]bool{"ssm:/secure": true},
	}
	for _, c := range []struct{ name, in, clear, stored, masked string }{
		{"whole", `"` + token + `"`, `"s3cr3t!"`, `"` + token + `"`, ""},
		{"in a longer text, twice (T-285)", `"a` + token + `b` + token + `"`, `"as3cr3t!bs3cr3t!"`, `"a` + token + `b` + token + `"`, ""},
		{"composed by Join (T-263)", `{"Fn::Join": ["", ["{{resolve:secretsmanager:", {"Ref": "DB"}, ":SecretString:password::}}"]]}`, `"s3cr3t!"`, `"` + token + `"`, ""},
		{"composed by Sub (T-264)", `{"Fn::Sub": "p={{resolve:secretsmanager:${DB}:SecretString:password::}}"}`, `"p=s3cr3t!"`, `"p=` + token + `"`, ""},
		{"in the answer of the world (T-280)", `{"Fn::Sub": "${Child}!"}`, `"s3cr3t!!"`, `"` + token + `!"`, ""},
		{"a public parameter is stored resolved (S-154)", `"x{{resolve:ssm:/plain}}"`, `"xpublic"`, `"xpublic"`, ""},
		{"a secure parameter (T-288)", `"{{resolve:ssm:/secure}}"`, `"hidden-text"`, `"{{resolve:ssm:/secure}}"`, ""},
		{"ssm-secure is always a secret (C.3, T-289, T-290)", `"{{resolve:ssm-secure:/x:1}}"`, `"other-secret"`, `"{{resolve:ssm-secure:/x:1}}"`, ""},
		{"encoded: no expression names it (S-156)", `{"Fn::Base64": "` + token + `"}`, `"czNjcjN0IQ=="`, `"***"`, "[]"},
		{"part of it (S-156)", `{"Fn::Select": [1, {"Fn::Split": ["3", "` + token + `"]}]}`, `"cr"`, `"***"`, "[]"},
		{"NoEcho parameter (S-160)", `{"a": [{"Ref": "Pw"}, "x"]}`, `{"a":["hunter2","x"]}`, `{"a":["***","x"]}`, "[a 0]"},
		{"leaf that holds a NoEcho parameter (S-160)", `{"u": {"Fn::Sub": "user:${Pw}@host"}}`, `{"u":"user:hunter2@host"}`, `{"u":"***"}`, "[u]"},
		{"NoEcho answer of a custom resource (T-624)", `{"Fn::GetAtt": ["DB", "Answer"]}`, `{"a":["quiet"],"n":"7"}`, `{"a":["***"],"n":"***"}`, "[a 0] [n]"},
		{"JSON text with a secret", `{"Fn::ToJsonString": {"p": "` + token + `"}}`, `"{\"p\":\"s3cr3t!\"}"`, `"{\"p\":\"` + token + `\"}"`, ""},
		{"text that only looks like a reference", `"{{resolve:ssm"`, `"{{resolve:ssm"`, `"{{resolve:ssm"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := &secret.Set{}
			body := strings.Replace(with(c.in, true), `"Parameters": {`, `"Parameters": {"Pw": {"Type": "String", "NoEcho": true, "Default": "hunter2"},`, 1)
			body = strings.Replace(body, `"Resources": {`, `"Resources": {"Child": {"Type": "T::T::T"},`, 1)
			s := bind(t, body, w, template.Secrets(set))
			r, err := s.ResolvedProperties(t.Context(), "R")
			if err != nil {
				t.Fatal(err)
			}
			clear, stored := value.JSON(r.Clear.(*value.Object).Value("V")), value.JSON(r.Stored.(*value.Object).Value("V"))
			if clear != c.clear || stored != c.stored {
				t.Errorf("want %s and %s, got %s and %s", c.clear, c.stored, clear, stored)
			}
			var masked []string
			for _, path := range r.Masked {
				masked = append(masked, strings.TrimSpace(strings.NewReplacer("V ", "", "V", "").Replace(strings.Trim(strings.Join(words(path), " "), "[]"))))
			}
			for i := range masked {
				masked[i] = "[" + masked[i] + "]"
			}
			if got := strings.Join(masked, " "); got != c.masked {
				t.Errorf("masked: want %q, got %q", c.masked, got)
			}
			redacted, _ := set.Redact(r.Clear, r.Stored)
			if diff := cmp.Diff(value.JSON(r.Stored), value.JSON(redacted)); diff != "" {
				t.Errorf("redacting the clear form gives something else than the stored: %s", diff)
			}
		})
	}
}

func words(path secret.Path) []string {
	var out []string
	for _, p := range path {
		switch p := p.(type) {
		case string:
			out = append(out, p)
		case int:
			out = append(out, string(rune('0'+p)))
		}
	}
	return out
}

func TestDynamicReferencesRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"another service (T-290)", `"{{resolve:vault:x}}"`, `"vault" is no service of dynamic references`},
		{"nothing named", `"{{resolve:ssm:}}"`, "names nothing"},
		{"a secret in its name", `{"Fn::Sub": ["{{resolve:ssm:${Pw}}}", {"Pw": "` + token + `"}]}`, "a secret cannot be part of a dynamic reference"},
		{"not there", `"{{resolve:secretsmanager:gone}}"`, "there is no such secret"},
		{"of another region (T-280)", `{"Fn::GetStackOutput": {"StackName": "O", "OutputName": "Out", "Region": "us-east-1"}}`, "cannot be resolved there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{outputs: map[string]any{"O.Out": token}, dynamic: map[string]string{"secretsmanager:db:SecretString:password::": "s3cr3t"}}
			_, err := bind(t, with(c.in, false), w).Properties(t.Context(), "R")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
	w := regional{&world{outputs: map[string]any{"O.Out": token}}}
	props, err := bind(t, with(`{"Fn::GetStackOutput": {"StackName": "O", "OutputName": "Out", "Region": "us-east-1"}}`, false), w).Properties(t.Context(), "R")
	if err != nil || props.String("V") != "from us-east-1" {
		t.Errorf("a world of several regions resolves it where it comes from (S-152): %v, %v", value.JSON(props), err)
	}
}

// undecrypted is a world that tells which parameters may be shown.
type undecrypted struct{ *world }

func (w undecrypted) Plain(_ context.Context, region, name string) (string, bool, error) {
	w.note("plain %s in %s", name, region)
	return w.dynamic["ssm:"+name], !w.secret["ssm:"+name], nil
}

// What a preview was not told a deploy asks for (T-293).
func TestPreviewDecryptsNothing(t *testing.T) {
	w := undecrypted{&world{dynamic: map[string]string{"ssm:/plain": "public", "ssm:/secure": "hidden-text"}, secret: map[string]bool{"ssm:/secure": true}}}
	s := bind(t, `{"Resources": {"R": {"Type": "T::T::T", "Properties": {"P": "{{resolve:ssm:/plain}}", "S": "a{{resolve:ssm:/secure}}"}}}}`, w)
	props, unresolved, err := s.Preview(t.Context(), "R")
	if got, want := value.JSON(props), `{"P":"public","S":"a{{resolve:ssm:/secure}}"}`; err != nil || len(unresolved) > 0 || got != want {
		t.Errorf("want %s, got %s, %v, %v", want, got, unresolved, err)
	}
	if diff := cmp.Diff([]string{"plain /plain in eu-west-1", "plain /secure in eu-west-1"}, w.asked); diff != "" {
		t.Error(diff)
	}
	props, err = s.Properties(t.Context(), "R")
	if got, want := value.JSON(props), `{"P":"public","S":"ahidden-text"}`; err != nil || got != want {
		t.Errorf("want %s, got %s, %v", want, got, err)
	}
}

func TestPreviewAsksForNoSecret(t *testing.T) { // T-293
	w := &world{dynamic: map[string]string{"ssm:/plain": "public", "ssm:/secure": "hidden-text"}, secret: map[string]bool{"ssm:/secure": true}}
	s := bind(t, `{"Parameters": {"Pw": {"Type": "String", "NoEcho": true, "Default": "hunter2"}},
		"Conditions": {"C": {"Fn::Equals": [{"Ref": "Pw"}, "hunter2"]}},
		"Resources": {
		"Later": {"Type": "T::T::T"},
		"R": {"Type": "T::T::T", "Properties": {
			"Secret": "a`+token+`",
			"Public": "{{resolve:ssm:/plain}}",
			"Secure": "{{resolve:ssm:/secure}}",
			"Unmade": "{{resolve:ssm:/unmade}}",
			"Encoded": {"Fn::Base64": "`+token+`"},
			"Password": {"Fn::Sub": "x${Pw}"},
			"Chosen": {"Fn::If": ["C", [{"Ref": "Later"}, "known"], {"Ref": "AWS::NoValue"}]},
			"Joined": {"Fn::Join": ["-", [{"Ref": "AWS::Region"}, {"Ref": "Later"}]]},
			"Nothing": {"Ref": "AWS::NoValue"}
		}}}}`, w)
	props, unresolved, err := s.Preview(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Secret":"a` + token + `","Public":"public","Secure":"{{resolve:ssm:/secure}}","Unmade":"{{resolve:ssm:/unmade}}",` +
		`"Encoded":{"Fn::Base64":"` + token + `"},"Password":"***","Chosen":[{"Ref":"Later"},"known"],` +
		`"Joined":{"Fn::Join":["-",[{"Ref":"AWS::Region"},{"Ref":"Later"}]]}}`
	if got := value.JSON(props); got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
	if diff := cmp.Diff([]string{"Unmade", "Encoded", "Chosen", "Joined"}, unresolved); diff != "" {
		t.Error(diff)
	}
	for _, asked := range w.asked {
		if !strings.HasPrefix(asked, "dynamic ssm:") {
			t.Errorf("a preview asked for %s", asked)
		}
	}
}

func TestOutputs(t *testing.T) {
	w := &world{
		refs:    map[string]any{"R": "id"},
		dynamic: map[string]string{"secretsmanager:db:SecretString:password::": "s3cr3t!"},
	}
	s := bind(t, `{"Conditions": {"No": {"Fn::Equals": [1, 2]}}, "Resources": {"R": {"Type": "T::T::T"}},
		"Outputs": {
			"Plain": {"Value": {"Ref": "R"}},
			"Exported": {"Value": {"Ref": "R"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-x"}}},
			"Secret": {"Value": "`+token+`", "Export": {"Name": "`+token+`"}},
			"Shadow": {"Value": 1, "Export": {"Name": "Plain"}},
			"Own": {"Value": 1, "Export": {"Name": "Own"}},
			"Reuse": {"Value": 1, "Export": {"Name": "Off"}},
			"Off": {"Value": {"Ref": "R"}, "Condition": "No"}
		}}`, w)
	var names []string
	for _, o := range s.Outputs() {
		names = append(names, o.Name)
	}
	if diff := cmp.Diff([]string{"Plain", "Exported", "Secret", "Shadow", "Own", "Reuse"}, names); diff != "" {
		t.Errorf("outputs whose condition is false are absent (T-300): %s", diff)
	}
	for _, c := range []struct{ name, value, export, refused string }{
		{"Plain", `"id"`, "", ""},
		{"Exported", `"id"`, "S-x", ""},
		{"Secret", `"` + token + `"`, "", "its name contains a secret"}, // T-303, S-37, S-161
		{"Shadow", `1`, "", "its name Plain is that of another output"}, // T-302, S-37
		{"Own", `1`, "Own", ""},                                         // T-302
		{"Reuse", `1`, "Off", ""},                                       // T-302, S-37
	} {
		v, export, exported, err := s.Output(t.Context(), c.name)
		var refused *template.ExportError
		if errors.As(err, &refused) != (c.refused != "") || (refused == nil && err != nil) {
			t.Fatalf("%s: got %v", c.name, err)
		}
		if refused != nil && (refused.Reason != c.refused || strings.Contains(err.Error(), "s3cr3t!")) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if value.JSON(v) != c.value || export != c.export || exported != (c.export != "") {
			t.Errorf("%s: got %s, %q, %v", c.name, value.JSON(v), export, exported)
		}
	}
	nothing := bind(t, `{"Resources": {}, "Outputs": {"O": {"Value": {"Ref": "AWS::NoValue"}}}}`, &world{})
	if _, _, _, err := nothing.Output(t.Context(), "O"); err == nil || !strings.Contains(err.Error(), "Outputs.O.Value: AWS::NoValue is no value of an output") {
		t.Errorf("an output of nothing: %v", err)
	}
	if _, _, _, err := nothing.PreviewOutput(t.Context(), "O"); err == nil {
		t.Error("a diff shows an output of nothing (T-441)")
	}
	unmade := bind(t, `{"Resources": {"R": {"Type": "T::T::T"}}, "Outputs": {"O": {"Value": {"Ref": "R"}, "Export": {"Name": "e"}}}}`, &world{})
	v, export, unresolved, err := unmade.PreviewOutput(t.Context(), "O")
	if err != nil || !unresolved || export != "e" || value.JSON(v) != `{"Ref":"R"}` {
		t.Errorf("got %s, %q, %v, %v", value.JSON(v), export, unresolved, err)
	}
}

func TestParameterThatIsAnExpression(t *testing.T) { // S-165, T-704
	w := &world{dynamic: map[string]string{"secretsmanager:db:SecretString:password::": "s3cr3t!"}}
	tmpl := parse(t, `{"Parameters": {"Pw": {"Type": "String", "NoEcho": true, "AllowedPattern": "[a-z0-9!]+"}},
		"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::Sub": "x${Pw}"}}}}}`)
	s, err := tmpl.Bind(t.Context(), env, map[string]string{"Pw": token}, w)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.ResolvedProperties(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	if clear, stored := value.JSON(r.Clear), value.JSON(r.Stored); clear != `{"V":"xs3cr3t!"}` || stored != `{"V":"x`+token+`"}` {
		t.Errorf("got %s and %s", clear, stored)
	}
}

func TestResolveRecorded(t *testing.T) { // S-158
	w := &world{dynamic: map[string]string{"secretsmanager:db:SecretString:password::": "s3cr3t!"}}
	s := bind(t, `{}`, w)
	recorded := json(t, `{"a": ["x`+token+`"], "own": {"Ref": "Nope"}, "n": 1.50}`)
	r, err := s.ResolveRecorded(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value.JSON(r.Clear), `{"a":["xs3cr3t!"],"own":{"Ref":"Nope"},"n":1.50}`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if !value.Equal(r.Stored, recorded) {
		t.Errorf("the stored form differs from what was recorded: %s", value.JSON(r.Stored))
	}
}
