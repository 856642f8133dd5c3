package sandbox

import (
	"encoding/xml"
	"net/http"
	"slices"

	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// backend chooses who answers a call.
func (s *Sandbox) backend(c *call) http.Handler {
	switch c.Service {
	case "s3":
		return s.S3
	case "":
		// Unsigned: S3 refuses it for what it has, the rest is the upstream's.
		if slices.Contains(s.S3.Buckets(), s3.ParseAddress(c.http).Bucket) {
			return s.S3
		}
	case "cloudcontrolapi":
		return s.CloudControl
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case c.Action == "GetCallerIdentity":
			s.callerIdentity(w, c)
		case c.Service == "cloudformation" && c.Action == "DescribeType":
			s.describeType(w, c)
		case c.Service == "cloudformation":
			s.stacks(w, c)
		case c.Service == "ec2" && c.Action == "DescribeAvailabilityZones" && s.kind != Moto:
			zones(w, c)
		case c.Service == "ecr" && c.Action == "DescribeImages" && s.kind != Moto && s.upstream != nil:
			s.images(w, c)
		case c.Service == "iam" && c.Action == "SimulatePrincipalPolicy":
			s.simulate(w, c)
		case c.Service == "lambda":
			s.lambda(w, c)
		case c.Service == "sns" && c.Action == "Publish":
			s.publish(w, c)
		default:
			s.forward(w, c)
		}
	})
}

// forward lets the upstream answer.
func (s *Sandbox) forward(w http.ResponseWriter, c *call) {
	if s.upstream == nil {
		refuse(w, c, http.StatusNotImplemented, "NotImplemented", "the sandbox runs without an upstream, and has no "+c.Service+" of its own")
		return
	}
	if s.kind == Moto {
		if err := s.mirror(c); err != nil {
			refuse(w, c, http.StatusInternalServerError, "InternalFailure", err.Error())
			return
		}
		if c.http.Header.Get("smithy-protocol") == "rpc-v2-cbor" {
			s.forwardCBOR(w, c)
			return
		}
	}
	s.upstream.ServeHTTP(w, c.http)
}

func (s *Sandbox) describeType(w http.ResponseWriter, c *call) {
	name := c.form.Get("TypeName")
	t, ok := s.types(name)
	if !ok {
		refuse(w, c, http.StatusBadRequest, "TypeNotFoundException", "The type "+name+" cannot be found.")
		return
	}
	text, err := cloudcontrol.SchemaText(t)
	if err != nil {
		refuse(w, c, http.StatusInternalServerError, "InternalFailure", err.Error())
		return
	}
	type result struct{ TypeName, Type, Visibility, ProvisioningType, Schema string }
	out := struct {
		XMLName xml.Name `xml:"http://cloudformation.amazonaws.com/doc/2010-05-15/ DescribeTypeResponse"`
		Result  result   `xml:"DescribeTypeResult"`
	}{Result: result{name, "RESOURCE", "PUBLIC", "FULLY_MUTABLE", text}}
	if !t.Provisionable {
		out.Result.ProvisioningType = "NON_PROVISIONABLE"
	}
	writeXML(w, out)
}
