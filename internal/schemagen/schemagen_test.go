package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/schemafile"
)

// sources writes a cfn-lint folder with one schema per type, and a service
// specification, and returns what schemagen makes of them.
func sources(t *testing.T, lint map[string]string, spec string) map[string]*schemafile.Type {
	t.Helper()
	folder := t.TempDir()
	write := func(b []byte, path ...string) {
		file := filepath.Join(append([]string{folder}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table := "types: dict[str, str] = {\n"
	for name, schema := range lint {
		hash := ""
		for _, c := range name {
			hash += string("0123456789abcdef"[c%16])
		}
		table += `    "` + name + `": "` + hash + "\",\n"
		write([]byte(schema), "resources", hash+".json")
	}
	write([]byte(table+"}\n"), "providers", "us_east_1.py")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(spec)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(z.Bytes(), "db.json.gz")

	l, err := readLint(folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := readSpec(filepath.Join(folder, "db.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return merge(l, s)
}

const otherType = `{"schema":{"resource":{"entities":[{"cloudFormationType":"AWS::X::Other","primaryIdentifier":["A"]}]}}}`

func text() *schemafile.Shape { return &schemafile.Shape{Type: "string"} }

func TestLintSchema(t *testing.T) {
	got := sources(t, map[string]string{"AWS::A::B": `{
		"properties": {
			"Name": {"type": "string"},
			"Doc": {"type": ["object", "string"]},
			"Any": {"type": ["string", "integer", "object"]},
			"Set": {"type": "array", "insertionOrder": false, "items": {"$ref": "#/definitions/Node"}},
			"Map": {"type": "object", "patternProperties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
			"Free": {"type": "object", "additionalProperties": {"type": "boolean"}},
			"Either": {"oneOf": [{"$ref": "#/definitions/Node"}, {"properties": {"Other": {"type": "number"}}}]},
			"Both": {"type": "object", "anyOf": [{"required": ["Name"]}], "properties": {"Name": {"type": "string"}}}
		},
		"definitions": {
			"Node": {"type": "object", "properties": {"Next": {"$ref": "#/definitions/Node"}, "Id": {"type": "string"}}},
			"Unused": {"type": "string"}
		},
		"required": ["Name"],
		"primaryIdentifier": ["/properties/Name", "/properties/Doc"],
		"createOnlyProperties": ["/properties/Set/*/Id", "/properties/Name", "/properties/Map/items/properties/X"],
		"readOnlyProperties": ["/properties/Either/Id"],
		"replacementStrategy": "delete_then_create",
		"tagging": {"taggable": true, "tagProperty": "/properties/Map"},
		"sourceUrl": "https://example.com"
	}`}, otherType)["AWS::A::B"]
	want := &schemafile.Type{
		Properties: map[string]*schemafile.Shape{
			"Name": text(), "Doc": {JSON: true}, "Any": {},
			"Set":  {Type: "array", Unordered: true, Items: &schemafile.Shape{Use: "Node"}},
			"Map":  {Type: "object", Values: text()},
			"Free": {Type: "object", Values: &schemafile.Shape{Type: "boolean"}},
			"Either": {Type: "object", Properties: map[string]*schemafile.Shape{
				"Next": {Use: "Node"}, "Id": text(), "Other": {Type: "number"},
			}},
			"Both": {Type: "object", Properties: map[string]*schemafile.Shape{"Name": text()}},
		},
		Shapes: map[string]*schemafile.Shape{
			"Node": {Type: "object", Properties: map[string]*schemafile.Shape{"Next": {Use: "Node"}, "Id": text()}},
		},
		Required:          []string{"Name"},
		PrimaryIdentifier: []string{"Name", "Doc"},
		CreateOnly:        []string{"Map/*/X", "Name", "Set/*/Id"},
		ReadOnly:          []string{"Either/Id"},
		TagProperty:       "Map",
		DeleteFirst:       true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestMerge(t *testing.T) {
	got := sources(t, map[string]string{
		"AWS::A::Both": `{"properties": {"Name": {"type": "string"}, "Tags": {"type": "array"}}, "primaryIdentifier": ["/properties/Name"], "readOnlyProperties": ["/properties/Arn"]}`,
	}, `{"schema": {
		"resource": {"entities": [
			{"cloudFormationType": "AWS::A::Both", "primaryIdentifier": ["Name", "Other"], "cfnRefIdentifier": ["Arn"],
			 "attributes": {"Arn": {"type": {"type": "string"}}, "Url": {"type": {"type": "string"}}},
			 "properties": {"Name": {"type": {"type": "integer"}, "causesReplacement": "yes"}}, "tagInformation": {"tagPropertyName": "Tags"}},
			{"cloudFormationType": "AWS::A::Young", "primaryIdentifier": ["Id"], "attributes": {"Id": {"type": {"type": "string"}}, "Status.Code": {"type": {"type": "string"}}},
			 "properties": {
				"Tree": {"type": {"type": "ref", "reference": {"$ref": "1"}}, "required": true, "causesReplacement": "yes"},
				"Maybe": {"type": {"type": "array", "element": {"type": "tag"}}, "causesReplacement": "maybe"},
				"Map": {"type": {"type": "map", "element": {"type": "json"}}},
				"Doc": {"type": {"type": "union", "types": [{"type": "json"}, {"type": "string"}]}}},
			 "additionalReplacementProperties": [["Tree", "Leaf"], ["Unknown", "X"]]}
		]},
		"typeDefinition": {"entities": [{"$id": "1", "name": "Tree", "properties": {"Leaf": {"type": {"type": "date-time"}}, "Sub": {"type": {"type": "ref", "reference": {"$ref": "1"}}}}}]}
	}}`)
	want := map[string]*schemafile.Type{
		"AWS::A::Both": {
			Properties: map[string]*schemafile.Shape{"Name": text(), "Tags": {Type: "array"}}, Shapes: map[string]*schemafile.Shape{},
			PrimaryIdentifier: []string{"Name"}, Ref: []string{"Arn"}, ReadOnly: []string{"Arn"}, Attributes: []string{"Url"}, TagProperty: "Tags",
		},
		"AWS::A::Young": {
			Properties: map[string]*schemafile.Shape{
				"Id": text(), "Tree": {Use: "Tree"}, "Doc": {JSON: true},
				"Maybe": {Type: "array", Items: &schemafile.Shape{Type: "object", Properties: map[string]*schemafile.Shape{"Key": text(), "Value": text()}}},
				"Map":   {Type: "object", Values: &schemafile.Shape{Type: "object"}},
			},
			Shapes: map[string]*schemafile.Shape{
				"Tree": {Type: "object", Properties: map[string]*schemafile.Shape{"Leaf": text(), "Sub": {Use: "Tree"}}},
			},
			Required: []string{"Tree"}, PrimaryIdentifier: []string{"Id"},
			CreateOnly: []string{"Tree", "Tree/Leaf"}, ConditionalCreateOnly: []string{"Maybe"}, ReadOnly: []string{"Id", "Status/Code"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestProvisionable(t *testing.T) {
	id, name := []string{"Id"}, []string{"Name"}
	parse := func(schema string) *schemafile.Registry {
		r, err := schemafile.ParseRegistry([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		rule, name string
		schema     *schemafile.Registry
		identifier []string
		want       bool
	}{
		{"a registry schema", "AWS::A::B", parse(`{"sourceUrl":"x"}`), id, true},
		{"a schema that speaks of tags", "AWS::A::B", parse(`{"tagging":{"taggable":false}}`), id, true},
		{"an identifier with a meaning", "AWS::A::B", parse(`{}`), name, true},
		{"a made-up identifier", "AWS::A::B", parse(`{}`), id, false},
		{"no identifier", "AWS::A::B", parse(`{"sourceUrl":"x"}`), nil, false},
		{"listed", "AWS::IAM::Role", parse(`{"sourceUrl":"x"}`), name, false},
		{"another vendor's", "Vendor::A::B", parse(`{"sourceUrl":"x"}`), name, false},
		{"made by a macro", "AWS::Serverless::Function", nil, name, false},
		{"only in the service specification", "AWS::A::B", nil, id, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := provisionable(c.name, c.schema, &schemafile.Type{PrimaryIdentifier: c.identifier}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSourcesThatAreNot(t *testing.T) {
	folder := t.TempDir()
	if _, err := readLint(folder); err == nil {
		t.Error("an empty folder was taken for cfn-lint's")
	}
	file := filepath.Join(folder, "db.json.gz")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSpec(file); err == nil {
		t.Error("text was taken for a compressed specification")
	}
}
