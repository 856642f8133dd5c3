package graph

import (
	"maps"
	"regexp"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// A Row is what deletion order needs to know of a recorded resource.
type Row struct {
	Type         string
	PhysicalID   string
	Dependencies []string // recorded
	Properties   *value.Object
}

// Deletion returns what each of the recorded resources has to wait for when
// all of them are deleted: whatever depends on it, and by type what AWS
// demands although no template says so. A cycle that the table by type would
// close is avoided; one in the recorded dependencies themselves is broken
// where the record's order says that the resource was made later.
func Deletion(order []string, rows map[string]Row) Edges {
	waits := Edges{}
	for _, id := range order {
		for _, p := range rows[id].Dependencies {
			if _, ok := rows[p]; ok && p != id && !reaches(waits, id, p) {
				waits.Add(p, id)
			}
		}
	}
	byType := map[string][]string{}
	for _, id := range order {
		byType[rows[id].Type] = append(byType[rows[id].Type], id)
	}
	for _, later := range slices.Sorted(maps.Keys(deletedAfter)) {
		for _, sooner := range deletedAfter[later] {
			for _, p := range byType[later] {
				for _, id := range byType[sooner] {
					if !reaches(waits, id, p) {
						waits.Add(p, id)
					}
				}
			}
		}
	}
	addCompositeAlarms(byType, rows, waits)
	return waits
}

// deletedAfter names, for a type, the types that have to be gone first.
var deletedAfter = map[string][]string{
	"AWS::EC2::EIP":                          {"AWS::EC2::NatGateway"},
	"AWS::EC2::InternetGateway":              {"AWS::EC2::VPCGatewayAttachment", "AWS::EC2::NatGateway"},
	"AWS::EC2::VPCGatewayAttachment":         {"AWS::EC2::NatGateway"},
	"AWS::Events::EventBus":                  {"AWS::Events::Rule"},
	"AWS::Athena::WorkGroup":                 {"AWS::Athena::NamedQuery"},
	"AWS::CloudFront::ResponseHeadersPolicy": {"AWS::CloudFront::Distribution"},
	"AWS::CloudFront::CachePolicy":           {"AWS::CloudFront::Distribution"},
	"AWS::CloudFront::OriginAccessControl":   {"AWS::CloudFront::Distribution"},
	"AWS::EC2::VPC": {"AWS::EC2::Subnet", "AWS::EC2::SecurityGroup", "AWS::EC2::InternetGateway",
		"AWS::EC2::EgressOnlyInternetGateway", "AWS::EC2::VPCGatewayAttachment", "AWS::EC2::RouteTable"},
	"AWS::EC2::Subnet":        {"AWS::EC2::SubnetRouteTableAssociation", "AWS::Lambda::Function"},
	"AWS::EC2::RouteTable":    {"AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation"},
	"AWS::EC2::SecurityGroup": {"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress", "AWS::Lambda::Function"},
}

var alarmInRule = regexp.MustCompile(`(?:ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*(?:"([^"]+)"|'([^']+)'|([^\s()"']+))\s*\)`)

// addCompositeAlarms lets an alarm go only after the composite alarms whose
// rule names it: CloudWatch refuses otherwise.
func addCompositeAlarms(byType map[string][]string, rows map[string]Row, waits Edges) {
	const composite = "AWS::CloudWatch::CompositeAlarm"
	alarms := slices.Concat(byType["AWS::CloudWatch::Alarm"], byType[composite])
	for _, c := range byType[composite] {
		for _, m := range alarmInRule.FindAllStringSubmatch(rows[c].Properties.String("AlarmRule"), -1) {
			named := m[1] + m[2] + m[3]
			for _, a := range alarms {
				name := rows[a].Properties.String("AlarmName")
				if a != c && (named == rows[a].PhysicalID || named == name || arnNames(named, rows[a].PhysicalID)) && !reaches(waits, c, a) {
					waits.Add(a, c)
				}
			}
		}
	}
}

// arnNames tells whether an alarm's ARN names the alarm.
func arnNames(arn, name string) bool {
	i := len(arn) - len(name)
	return name != "" && i > 7 && arn[i:] == name && arn[i-7:i] == ":alarm:"
}
