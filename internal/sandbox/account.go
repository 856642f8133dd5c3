package sandbox

import (
	"encoding/xml"
	"net/http"
)

// callerIdentity answers sts:GetCallerIdentity. The account is the sandbox's,
// whatever the upstream thinks it is.
func (s *Sandbox) callerIdentity(w http.ResponseWriter, c *call) {
	type result struct{ Arn, UserId, Account string }
	writeXML(w, struct {
		XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
		Result  result   `xml:"GetCallerIdentityResult"`
		ID      string   `xml:"ResponseMetadata>RequestId"`
	}{
		Result: result{"arn:aws:iam::" + s.account + ":user/sandbox", "AIDASANDBOXSANDBOX00", s.account},
		ID:     "00000000-0000-4000-8000-000000000000",
	})
}

// noStacks answers for a CloudFormation in which there is nothing. It reports
// whether the action is one that it knows.
func noStacks(w http.ResponseWriter, c *call) bool {
	type empty struct {
		XMLName xml.Name
		Result  struct{ XMLName xml.Name }
	}
	const ns = "http://cloudformation.amazonaws.com/doc/2010-05-15/"
	name := c.form.Get("StackName")
	switch c.Action {
	case "DescribeStacks", "GetTemplate", "DescribeStackResources", "ListStackResources", "DescribeStackEvents", "GetTemplateSummary":
		if name != "" {
			refuse(w, c, http.StatusBadRequest, "ValidationError", "Stack with id "+name+" does not exist")
			return true
		}
		if c.Action != "DescribeStacks" {
			refuse(w, c, http.StatusBadRequest, "ValidationError", "StackName must be given")
			return true
		}
	case "ListStacks", "ListExports", "ListImports":
	default:
		return false
	}
	out := empty{XMLName: xml.Name{Space: ns, Local: c.Action + "Response"}}
	out.Result.XMLName.Local = c.Action + "Result"
	writeXML(w, out)
	return true
}
