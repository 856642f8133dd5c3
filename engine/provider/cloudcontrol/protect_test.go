package cloudcontrol

import (
	"regexp"
	"slices"
	"testing"

	"github.com/org/cdkd-action/engine/schema"
)

// Each property that keeps a resource from being deleted has a value that does not
// (T-1009).
func TestEveryProtectionIsKnown(t *testing.T) {
	protects := regexp.MustCompile(`(Delet|Terminat)[a-z]*Protect|DisableApiTermination`)
	besides := []string{ // each with why it is none of them
		"AWS::AppConfig::ConfigurationProfile DeletionProtectionCheck", // what a delete looks at
		"AWS::AppConfig::Environment DeletionProtectionCheck",
		"AWS::AutoScaling::AutoScalingGroup DeletionProtection", // the service's own calls switch it off
	}
	for _, name := range schema.Names() {
		typ, _ := schema.Lookup(name)
		for property := range typ.Properties {
			if !protects.MatchString(property) || slices.Contains(besides, name+" "+property) {
				continue
			}
			if _, ok := protections[name][property]; !ok || !Protects(name) {
				t.Errorf("%s %s: nothing switches it off", name, property)
			}
		}
	}
	for name, off := range protections {
		for property := range off {
			if typ, ok := schema.Lookup(name); !ok || typ.Properties[property] == nil {
				t.Errorf("%s has no property %s", name, property)
			}
		}
	}
}
