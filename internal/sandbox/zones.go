package sandbox

import (
	"encoding/xml"
	"net/http"
)

// zones answers ec2:DescribeAvailabilityZones for an upstream that cannot: every
// region has three zones.
func zones(w http.ResponseWriter, c *call) {
	type zone struct {
		Name   string `xml:"zoneName"`
		Type   string `xml:"zoneType"`
		OptIn  string `xml:"optInStatus"`
		State  string `xml:"zoneState"`
		Region string `xml:"regionName"`
	}
	out := struct {
		XMLName xml.Name `xml:"http://ec2.amazonaws.com/doc/2016-11-15/ DescribeAvailabilityZonesResponse"`
		Zones   []zone   `xml:"availabilityZoneInfo>item"`
	}{}
	for _, letter := range "abc" {
		out.Zones = append(out.Zones, zone{c.Region + string(letter), "availability-zone", "opt-in-not-required", "available", c.Region})
	}
	writeXML(w, out)
}
