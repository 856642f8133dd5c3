package cloudformation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/value"
)

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// What an import is given has what it takes in and no more, each with a policy,
// and no reference that leads nowhere (S-316).
func TestForImport(t *testing.T) {
	body := object(t, `{"Parameters": {"P": {"Type": "String"}}, "Resources": {
		"Kept": {"Type": "A::B::C", "DependsOn": ["Left", "Other"], "Properties": {
			"Ref": {"Ref": "Left"}, "Att": [{"Fn::GetAtt": ["Left", "Arn"]}, {"Fn::GetAtt": "Left.Arn"}],
			"Sub": {"Fn::Sub": "x-${Left.Arn}"}, "Mapped": {"Fn::Sub": ["${Left}-${V}", {"V": 1}]}, "Stays": {"Fn::Join": ["", [{"Ref": "P"}, {"Ref": "Other"}]]}}},
		"Other": {"Type": "A::B::D", "DeletionPolicy": "Delete", "DependsOn": "Left"},
		"Left": {"Type": "A::B::E"}}, "Outputs": {"O": {"Value": {"Ref": "Left"}}}}`)
	written := value.JSON(body)
	got, err := cloudformation.ForImport(body, map[string]bool{"Left": true}, func(id string, v any) (any, error) { return id + ":" + value.JSON(v), nil })
	if err != nil {
		t.Fatal(err)
	}
	want := object(t, `{"Parameters": {"P": {"Type": "String"}}, "Resources": {
		"Kept": {"Type": "A::B::C", "DependsOn": ["Other"], "DeletionPolicy": "Retain", "Properties": {
			"Ref": "Kept:{\"Ref\":\"Left\"}", "Att": ["Kept:{\"Fn::GetAtt\":[\"Left\",\"Arn\"]}", "Kept:{\"Fn::GetAtt\":\"Left.Arn\"}"],
			"Sub": "Kept:{\"Fn::Sub\":\"x-${Left.Arn}\"}", "Mapped": "Kept:{\"Fn::Sub\":[\"${Left}-${V}\",{\"V\":1}]}", "Stays": {"Fn::Join": ["", [{"Ref": "P"}, {"Ref": "Other"}]]}}},
		"Other": {"Type": "A::B::D", "DeletionPolicy": "Delete"}}}`)
	if !value.Equal(want, got) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(value.JSON(want), value.JSON(got)))
	}
	if value.JSON(body) != written {
		t.Error("the template itself was changed")
	}
}

// A stack is retired only when each of its resources is left alone (S-315).
func TestRetained(t *testing.T) {
	body := object(t, `{"Resources": {"A": {"Type": "A::B::C", "DeletionPolicy": "Snapshot"}, "B": {"Type": "A::B::C"}}}`)
	if err := cloudformation.CheckRetained(body); err == nil {
		t.Error("a snapshot is taken for leaving alone")
	}
	retained := cloudformation.Retained(body)
	if err := cloudformation.CheckRetained(retained); err != nil {
		t.Error(err)
	}
	if body.Object("Resources").Object("B").Has("DeletionPolicy") {
		t.Error("the template itself was changed")
	}
}
