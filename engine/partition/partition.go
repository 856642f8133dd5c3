// Package partition knows which partition of AWS a region belongs to, and what
// that decides: the second part of an ARN and the end of a host name.
package partition

import "strings"

// Of returns the partition of a region: aws, aws-cn, aws-us-gov, ….
func Of(region string) string { return of(region).name }

// URLSuffix returns the domain of the region's services.
func URLSuffix(region string) string { return of(region).suffix }

type partition struct{ prefix, name, suffix string }

func of(region string) partition {
	for _, p := range [...]partition{
		{"cn-", "aws-cn", "amazonaws.com.cn"},
		{"us-gov-", "aws-us-gov", "amazonaws.com"},
		{"us-iso-", "aws-iso", "c2s.ic.gov"},
		{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
		{"us-isof-", "aws-iso-f", "csp.hci.ic.gov"},
		{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
		{"eusc-", "aws-eusc", "amazonaws.eu"},
	} {
		if strings.HasPrefix(region, p.prefix) {
			return p
		}
	}
	return partition{name: "aws", suffix: "amazonaws.com"}
}
