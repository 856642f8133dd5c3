package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	typ, err := Parse("Vendor::A::B", []byte(`{
		"typeName": "Vendor::A::B",
		"handlers": {"create": {"permissions": ["a:Create"]}},
		"properties": {"Name": {"type": "string"}, "Arn": {"type": "string"}, "Tree": {"$ref": "#/definitions/Tree"}},
		"definitions": {"Tree": {"type": "object", "properties": {"Sub": {"$ref": "#/definitions/Tree"}, "N": {"type": "integer"}}}},
		"createOnlyProperties": ["/properties/Name", "/properties/Tree/N"],
		"readOnlyProperties": ["/properties/Arn"],
		"primaryIdentifier": ["/properties/Arn"]
	}`), true)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"Name", "Tree/N"}, typ.CreateOnly); d != "" {
		t.Errorf("create-only (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]string{"Arn"}, typ.Attributes); d != "" {
		t.Errorf("attributes (-want +got)\n%s", d)
	}
	if p := typ.At("Tree/Sub/Sub/N"); p == nil || p.Type != "integer" {
		t.Errorf("a recursive shape: got %+v", p)
	}
	if !typ.Provisionable || typ.Replaces("Tree") != ReplaceBelow || typ.Replaces("Name") != Replaces {
		t.Errorf("got %+v", typ)
	}
	if _, err := Parse("Vendor::A::B", []byte(`{"properties": []}`), true); err == nil {
		t.Error("what is no schema was taken for one")
	}
}

// A schema comes over the network: whatever it is, reading it ends.
func FuzzParse(f *testing.F) {
	f.Add(`{"properties": {"A": {"$ref": "#/properties/A"}, "B": {"$ref": "#/definitions/R"}}, "definitions": {"R": {"anyOf": [{"$ref": "#/definitions/R"}]}}}`)
	f.Add(`{"properties": {"A": {"items": {"$ref": "#/properties/A"}, "type": ["array", "object"], "additionalProperties": {"$ref": "#/definitions/Gone"}}}}`)
	f.Add(`{"properties": {"A": null}, "definitions": {"D": null}, "createOnlyProperties": ["/properties/A/*/B", ""]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if typ, err := Parse("A::B::C", []byte(body), true); err == nil {
			for property := range typ.Properties {
				typ.Replaces(property)
				typ.At(property + "/*/X")
			}
		}
	})
}
