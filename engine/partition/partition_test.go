package partition_test

import (
	"testing"

	"github.com/org/cdkd-action/engine/partition"
)

func TestPartitions(t *testing.T) { // T-246
	for region, want := range map[string][2]string{
		"eu-west-1":      {"aws", "amazonaws.com"},
		"us-east-1":      {"aws", "amazonaws.com"},
		"cn-north-1":     {"aws-cn", "amazonaws.com.cn"},
		"us-gov-west-1":  {"aws-us-gov", "amazonaws.com"},
		"us-iso-east-1":  {"aws-iso", "c2s.ic.gov"},
		"us-isob-east-1": {"aws-iso-b", "sc2s.sgov.gov"},
		"us-isof-east-1": {"aws-iso-f", "csp.hci.ic.gov"},
		"eu-isoe-west-1": {"aws-iso-e", "cloud.adc-e.uk"},
		"eusc-de-east-1": {"aws-eusc", "amazonaws.eu"},
		"":               {"aws", "amazonaws.com"},
	} {
		if got := [2]string{partition.Of(region), partition.URLSuffix(region)}; got != want {
			t.Errorf("%s: want %q, got %q", region, want, got)
		}
	}
}
