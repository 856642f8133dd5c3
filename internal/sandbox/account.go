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
