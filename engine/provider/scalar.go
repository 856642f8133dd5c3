package provider

import (
	"encoding/json"
	"math"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

func textOrJSON(v any) (string, bool) {
	switch v.(type) {
	case *value.Object, []any:
		return value.JSON(v), true
	}
	return value.Text(v)
}

func instant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05"} { // CloudFormation's is UTC without saying so
			if t, err := time.Parse(layout, v); err == nil {
				return t, true
			}
		}
		return instant(json.Number(v))
	case json.Number:
		f, ok := value.Float(v)
		sec, frac := math.Modf(f)
		return time.Unix(int64(sec), int64(frac*1e9)).UTC(), ok && math.Abs(f) < 1<<53
	}
	return time.Time{}, false
}
