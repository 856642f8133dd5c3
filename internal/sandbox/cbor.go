package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/aws/smithy-go/encoding/cbor"
)

// forwardCBOR forwards a call of Smithy's CBOR protocol, which moto does not
// speak, in the JSON protocol, which it does.
func (s *Sandbox) forwardCBOR(w http.ResponseWriter, c *call) {
	in := cbor.Value(cbor.Map{})
	if len(c.body) > 0 {
		var err error
		if in, err = cbor.Decode(c.body); err != nil {
			refuse(w, c, http.StatusBadRequest, "SerializationException", err.Error())
			return
		}
	}
	body, err := json.Marshal(fromCBOR(in))
	if err != nil {
		refuse(w, c, http.StatusBadRequest, "SerializationException", err.Error())
		return
	}
	// /service/GraniteServiceVersion20100801/operation/PutMetricAlarm
	path := strings.Split(c.http.URL.Path, "/")
	if len(path) != 5 {
		refuse(w, c, http.StatusNotFound, "UnknownOperationException", c.http.URL.Path)
		return
	}
	req := c.http.Clone(c.http.Context())
	req.URL.Path, req.URL.RawPath = "/", ""
	req.Header.Del("smithy-protocol")
	req.Header.Del("Accept")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", path[2]+"."+path[4])
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := newAnswer()
	s.upstream.ServeHTTP(out, req)

	var answer any
	dec := json.NewDecoder(&out.body)
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil && err != io.EOF {
		refuse(w, c, http.StatusBadGateway, "InternalFailure", fmt.Sprintf("moto did not answer in JSON: %v", err))
		return
	}
	if answer == nil {
		answer = map[string]any{}
	}
	w.Header().Set("smithy-protocol", "rpc-v2-cbor")
	w.Header().Set("Content-Type", "application/cbor")
	if code := out.header.Get("x-amzn-query-error"); code != "" {
		w.Header().Set("x-amzn-query-error", code)
	}
	w.WriteHeader(out.status)
	w.Write(cbor.Encode(toCBOR("", answer)))
}

func fromCBOR(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.Map:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			out[k] = fromCBOR(inner)
		}
		return out
	case cbor.List:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = fromCBOR(inner)
		}
		return out
	case cbor.String:
		return string(v)
	case cbor.Slice:
		return []byte(v)
	case cbor.Bool:
		return bool(v)
	case cbor.Uint:
		return uint64(v)
	case cbor.NegInt:
		return -int64(uint64(v))
	case cbor.Float32:
		return float32(v)
	case cbor.Float64:
		return float64(v)
	case *cbor.Tag: // a timestamp
		return fromCBOR(v.Value)
	}
	return nil
}

// toCBOR encodes an answer. JSON does not tell a timestamp from a number, the
// member's name does.
func toCBOR(name string, v any) cbor.Value {
	switch v := v.(type) {
	case map[string]any:
		out := cbor.Map{}
		for k, inner := range v {
			if inner != nil {
				out[k] = toCBOR(k, inner)
			}
		}
		return out
	case []any:
		out := make(cbor.List, len(v))
		for i, inner := range v {
			out[i] = toCBOR(name, inner)
		}
		return out
	case string:
		return cbor.String(v)
	case bool:
		return cbor.Bool(v)
	case json.Number:
		f, err := v.Float64()
		switch {
		case err != nil:
			return cbor.String(v)
		case strings.Contains(name, "Timestamp") || strings.HasSuffix(name, "Time") || strings.HasSuffix(name, "Date"):
			return &cbor.Tag{ID: 1, Value: cbor.Float64(f)}
		case f >= 0 && f == math.Trunc(f) && !strings.ContainsAny(v.String(), ".eE"):
			return cbor.Uint(f)
		}
		return cbor.Float64(f)
	}
	return cbor.String("")
}
