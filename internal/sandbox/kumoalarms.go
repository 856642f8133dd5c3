package sandbox

import (
	"net/http"
	"path"

	"github.com/aws/smithy-go/encoding/cbor"
)

// alarmTags returns what gives an alarm the tags of the call that makes it, which
// kumo leaves out; nil for every other call. An alarm that is there keeps its own,
// as in AWS.
func alarmTags(proxy http.Handler, r *http.Request, c *call, body []byte, account string) (put func()) {
	if c.Service != "monitoring" || c.Action != "PutMetricAlarm" || r.Header.Get("smithy-protocol") != "rpc-v2-cbor" {
		return nil
	}
	ask := func(operation string, in cbor.Map) cbor.Map {
		address := *r.URL
		address.Path = path.Join(path.Dir(address.Path), operation)
		out := newAnswer()
		proxy.ServeHTTP(out, kumoRequest(r, &address, cbor.Encode(in)))
		answer, _ := cbor.Decode(out.body.Bytes())
		found, _ := answer.(cbor.Map)
		return found
	}
	v, _ := cbor.Decode(body)
	in, _ := v.(cbor.Map)
	name, _ := in["AlarmName"].(cbor.String)
	if there, _ := ask("DescribeAlarms", cbor.Map{"AlarmNames": cbor.List{name}})["MetricAlarms"].(cbor.List); len(there) > 0 {
		return nil
	}
	return func() {
		of := cbor.String("arn:aws:cloudwatch:" + c.Region + ":" + account + ":alarm:" + string(name))
		// Those of an alarm that was deleted are still there.
		var keys cbor.List
		old, _ := ask("ListTagsForResource", cbor.Map{"ResourceARN": of})["Tags"].(cbor.List)
		for _, tag := range old {
			if tag, ok := tag.(cbor.Map); ok {
				keys = append(keys, tag["Key"])
			}
		}
		if len(keys) > 0 {
			ask("UntagResource", cbor.Map{"ResourceARN": of, "TagKeys": keys})
		}
		if tags, _ := in["Tags"].(cbor.List); len(tags) > 0 {
			ask("TagResource", cbor.Map{"ResourceARN": of, "Tags": tags})
		}
	}
}
