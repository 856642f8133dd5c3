package value

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A decimal is a number exactly: digits × 10^exponent, where digits neither
// begin nor end with a zero. Zero has none.
//
// float64 and expanded fractions do not do for the numbers of a template: the
// one rounds, the other lets 1e999999 fill the memory.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

var numberText = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// IsNumber tells whether a text is a number as JSON writes one.
func IsNumber(text string) bool { return numberText.MatchString(text) }

func decimalOf(text string) (d decimal, ok bool) {
	m := numberText.FindStringSubmatch(text)
	if m == nil {
		return d, false
	}
	if m[4] != "" {
		e, err := strconv.ParseInt(m[4], 10, 32)
		if err != nil {
			return d, false
		}
		d.exponent = e
	}
	d.digits = strings.TrimLeft(m[2]+m[3], "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.negative = m[1] != ""
	d.exponent -= int64(len(m[3]))
	whole := len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	d.exponent += int64(whole - len(d.digits))
	return d, true
}

// Integer returns a number, or a text that is one, that is whole however it is
// written: 30, 30.0 and 3e1. ok is false for everything else, and for what does
// not fit.
func Integer(v any) (n int64, ok bool) {
	text, _ := Text(v)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	d, ok := decimalOf(text)
	const digits = 19 // of the greatest int64
	if !ok || d.exponent < 0 || int64(len(d.digits))+d.exponent > digits {
		return 0, false
	}
	if d.negative {
		d.digits = "-" + d.digits
	}
	n, err := strconv.ParseInt(d.digits+strings.Repeat("0", int(d.exponent)), 10, 64)
	return n, err == nil || d.digits == ""
}

// Float returns a number, or a text that is one, as the nearest float64. ok is
// false for everything else, and for what is too large for one.
func Float(v any) (f float64, ok bool) {
	text, _ := Text(v)
	if !IsNumber(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

func equalNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, ok1 := decimalOf(a.String())
	y, ok2 := decimalOf(b.String())
	return ok1 && ok2 && x == y
}
