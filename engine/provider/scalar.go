package provider

import (
	"encoding/json"
	"math"
	"strconv"
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

func integer(v any) (int64, bool) {
	text, _ := value.Text(v)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64) // 1.0 and 1e3 are whole too
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
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
		f, err := v.Float64()
		sec, frac := math.Modf(f)
		return time.Unix(int64(sec), int64(frac*1e9)).UTC(), err == nil
	}
	return time.Time{}, false
}
