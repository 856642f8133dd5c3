package sandbox

import (
	"encoding/json"
	"encoding/xml"
	"net/http"

	"github.com/aws/smithy-go/encoding/cbor"
)

// refuse writes an error in the protocol in which the call was made.
func refuse(w http.ResponseWriter, c *call, status int, code, message string) {
	if code == "" {
		code = http.StatusText(status)
	}
	const requestID = "00000000-0000-4000-8000-000000000000"
	type reason struct{ Type, Code, Message string }
	kind := "Sender"
	if status >= 500 {
		kind = "Receiver"
	}
	h := w.Header()
	h.Set("x-amzn-RequestId", requestID)
	var text []byte
	switch {
	case c.http.Method == http.MethodHead:
		w.WriteHeader(status)
		return
	case c.Service == "s3":
		h.Set("Content-Type", "application/xml")
		text = marshalXML(struct {
			XMLName       xml.Name `xml:"Error"`
			Code, Message string
			RequestID     string `xml:"RequestId"`
		}{Code: code, Message: message, RequestID: requestID})
	case c.Service == "ec2":
		h.Set("Content-Type", "text/xml")
		text = marshalXML(struct {
			XMLName   xml.Name `xml:"Response"`
			Error     reason   `xml:"Errors>Error"`
			RequestID string
		}{Error: reason{kind, code, message}, RequestID: requestID})
	case c.form != nil || c.Service == "route53" || c.Service == "cloudfront":
		h.Set("Content-Type", "text/xml")
		text = marshalXML(struct {
			XMLName   xml.Name `xml:"ErrorResponse"`
			Error     reason
			RequestID string `xml:"RequestId"`
		}{Error: reason{kind, code, message}, RequestID: requestID})
	case c.http.Header.Get("smithy-protocol") == "rpc-v2-cbor":
		h.Set("Content-Type", "application/cbor")
		h.Set("smithy-protocol", "rpc-v2-cbor")
		text = cbor.Encode(cbor.Map{"__type": cbor.String(code), "message": cbor.String(message)})
	default:
		h.Set("Content-Type", "application/x-amz-json-1.0")
		h.Set("x-amzn-ErrorType", code)
		// The two spellings that services use.
		text, _ = json.Marshal(map[string]string{"__type": code, "message": message, "Message": message})
	}
	w.WriteHeader(status)
	w.Write(text)
}

// marshalXML encodes values that are known to be encodable.
func marshalXML(v any) []byte {
	text, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append([]byte(xml.Header), text...)
}

func writeXML(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "text/xml")
	w.Write(marshalXML(v))
}
