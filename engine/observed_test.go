package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// What is read back holds no secret that the record has an expression or a mask
// for; a property in which not all of them can be placed is left out (S-155,
// S-156, S-157, S-160).
func TestReadBackIsStorable(t *testing.T) {
	const ref = `"{{resolve:secretsmanager:db}}"`
	for _, tt := range []struct{ name, recorded, read, want string }{
		{"no secret", `{"A":"a"}`, `{"A":"b","More":[1]}`, `{"A":"b","More":[1]}`},
		{"in its place", `{"Env":{"DB":` + ref + `,"X":"x"}}`, `{"Env":{"DB":"plain","X":"y"}}`, `{"Env":{"DB":` + ref + `,"X":"y"}}`},
		{"a part of a text", `{"URL":"postgres://{{resolve:secretsmanager:db}}@h"}`, `{"URL":"postgres://plain@h"}`, `{"URL":"postgres://{{resolve:secretsmanager:db}}@h"}`},
		{"a mask", `{"Key":"***"}`, `{"Key":"plain"}`, `{"Key":"***"}`},
		{"not told by AWS", `{"Password":` + ref + `}`, `{"Name":"n"}`, `{"Name":"n"}`},
		{"in a list of the same length", `{"L":[{"V":` + ref + `}]}`, `{"L":[{"V":"plain"}]}`, `{"L":[{"V":` + ref + `}]}`},
		{"in a list that came back longer", `{"L":[{"V":` + ref + `}],"B":1}`, `{"L":[{"V":"other"},{"V":"plain"}],"B":1}`, `{"B":1}`},
		{"a list of another length without secrets", `{"L":[1]}`, `{"L":[1,2]}`, `{"L":[1,2]}`},
		{"as another kind of value", `{"Doc":{"S":` + ref + `}}`, `{"Doc":"{\"S\":\"plain\"}"}`, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &deployment{e: &Engine{config: Config{Secrets: &secret.Set{}}}}
			recorded, err := value.ParseObject([]byte(tt.recorded))
			if err != nil {
				t.Fatal(err)
			}
			read, err := value.ParseObject([]byte(tt.read))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, value.JSON(d.storable(read, recorded))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
