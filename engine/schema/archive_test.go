package schema

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/schemafile"
)

func mustOpen(t testing.TB) *schemafile.File {
	t.Helper()
	f, err := schemafile.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What is written is read again, equal input gives equal bytes, and a shape
// that contains itself survives.
func TestRoundTrip(t *testing.T) {
	text := &schemafile.Shape{Type: "string"}
	types := map[string]*schemafile.Type{
		"AWS::A::Tree": {
			Properties: map[string]*schemafile.Shape{"Root": {Use: "Node"}, "Alias": {Use: "Also"}, "Broken": {Use: "Gone"}},
			Shapes: map[string]*schemafile.Shape{
				"Node": {Type: "object", Properties: map[string]*schemafile.Shape{
					"Name": text, "Children": {Type: "array", Unordered: true, Items: &schemafile.Shape{Use: "Node"}},
				}},
				"Also": {Use: "Node"},
				"Ring": {Use: "Ring"},
			},
			PrimaryIdentifier: []string{"Root"}, NotProvisionable: true,
		},
		"AWS::B::Leaf": {Properties: map[string]*schemafile.Shape{"X": text}},
	}
	var one, two bytes.Buffer
	for _, b := range []*bytes.Buffer{&one, &two} {
		if err := schemafile.Write(b, types); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same types gave different bytes")
	}
	f, err := schemafile.Open(one.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c := newCatalogue(f, decode)
	if d := cmp.Diff([]string{"AWS::A::Tree", "AWS::B::Leaf"}, c.names()); d != "" {
		t.Errorf("names (-want +got)\n%s", d)
	}
	tree, ok := c.lookup("AWS::A::Tree")
	if !ok {
		t.Fatal("not found")
	}
	if tree.Provisionable {
		t.Error("provisionable")
	}
	for path, want := range map[string]string{
		"Root/Children/*/Children/*/Name": "string", "Alias/Name": "string", "Root/Children": "array", "Broken": "",
	} {
		if p := tree.At(path); p == nil || p.Type != want {
			t.Errorf("%s: got %+v, want type %q", path, p, want)
		}
	}
	if p := tree.At("Root/Nope"); p != nil {
		t.Errorf("unknown member: got %+v", p)
	}
	if err := schemafile.Write(&one, map[string]*schemafile.Type{"Module": {}}); err == nil {
		t.Error("a name without service was written")
	}
}

// Damage is an error, never a wrong answer or a panic of the reader.
func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	if err := schemafile.Write(&b, map[string]*schemafile.Type{"AWS::A::B": {Required: []string{"X"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := schemafile.Open(in)
		if err != nil {
			return
		}
		for _, s := range file.Services() {
			if types, err := file.Service(s); err != nil && types != nil {
				t.Error("an error and types")
			}
		}
	})
}

// What a deploy pays for its first and its next types.
func BenchmarkLookup(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			c := newCatalogue(mustOpen(b), decode)
			for _, name := range []string{"AWS::SQS::Queue", "AWS::Lambda::Function", "AWS::IAM::Role", "AWS::EC2::Instance"} {
				if _, ok := c.lookup(name); !ok {
					b.Fatal(name)
				}
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			Lookup("AWS::SQS::Queue")
		}
	})
}

// A look-up decodes the type that is asked for and no other, and that once.
func TestOnlyWhatIsAskedForIsDecoded(t *testing.T) {
	var decoded []string
	c := newCatalogue(mustOpen(t), func(full string, body []byte) *Type {
		decoded = append(decoded, full)
		return decode(full, body)
	})
	if len(decoded) > 0 {
		t.Errorf("opening the archive decodes %v", decoded)
	}
	for _, name := range []string{"AWS::SQS::Queue", "AWS::EC2::VPC", "AWS::SQS::Queue", "AWS::SQS::Nothing"} {
		c.lookup(name)
	}
	if diff := cmp.Diff([]string{"AWS::SQS::Queue", "AWS::EC2::VPC"}, decoded); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}
