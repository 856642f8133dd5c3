package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/org/cdkd-action/engine/value"
)

// A redactor replaces values that must not be shown by marks. Equal values get
// equal marks, so that values can be compared after they were hidden; a mark
// tells nothing of its value. One redactor serves one comparison.
type redactor struct{ seen map[string]int }

const mark = "\x00hidden:" // no text that was cleaned has a NUL

var marks = regexp.MustCompile(`"\\u0000hidden:\d+\\u0000"|\\u0000hidden:\d+\\u0000|\x00hidden:\d+\x00`)

func (r *redactor) hide(v any) string {
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	text := value.JSON(v)
	n, ok := r.seen[text]
	if !ok {
		n = len(r.seen)
		r.seen[text] = n
	}
	return mark + strconv.Itoa(n) + "\x00"
}

// property returns the value of a top-level property with everything replaced
// that must not be shown.
func (r *redactor) property(resourceType, name string, v any, secret bool) any {
	if secret {
		return r.hide(v)
	}
	return r.at(resourceType, []string{name}, v)
}

// output does the same for the value of an output.
func (r *redactor) output(name string, v any, secret bool) any {
	return r.property("", name, v, secret)
}

func (r *redactor) at(resourceType string, path []string, v any) any {
	if sensitive(resourceType, path) && !shows(v) {
		return r.hide(v)
	}
	switch v := v.(type) {
	case *value.Object:
		out := value.NewObject()
		for k, m := range v.All() {
			if k == "Value" && namesSecret(v) && !shows(m) {
				out.Set(r.text(k), r.hide(m))
				continue
			}
			out.Set(r.text(k), r.at(resourceType, append(slices.Clone(path), k), m))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = r.at(resourceType, path, m) // a list's entries stand at the list's path
		}
		return out
	case string:
		return r.text(v)
	}
	return v
}

// text hides credentials inside of a text. What is hidden still counts in a
// comparison.
func (r *redactor) text(s string) string {
	c := Clean(s)
	if strings.Count(c, hidden) == strings.Count(s, hidden) {
		return c
	}
	return strings.Replace(c, hidden, r.hide(s), 1)
}

// shows tells whether a value at a sensitive path says only where the secret
// is, or is a switch.
func shows(v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return true
	case string:
		switch strings.ToLower(v) {
		case "", "***", "true", "false":
			return true
		}
		return strings.HasPrefix(v, "arn:") || dynamicReference.MatchString(v)
	case *value.Object:
		if v.Len() == 0 {
			return true
		}
		name, arg, ok := v.Sole()
		if !ok {
			return false
		}
		switch name {
		case "Ref":
			_, isText := arg.(string)
			return isText
		case "Fn::GetAtt", "Fn::ImportValue":
			return true
		case "Fn::Join":
			return shows(joined(arg))
		}
	case []any:
		return len(v) == 0
	}
	return false
}

// joined returns the text of a Fn::Join whose separator is empty, with "X" for
// what is not literal. Other arguments come back as they are.
func joined(arg any) any {
	l, _ := arg.([]any)
	if len(l) != 2 || l[0] != "" {
		return arg
	}
	parts, _ := l[1].([]any)
	text := ""
	for _, p := range parts {
		if s, ok := p.(string); ok {
			text += s
		} else {
			text += "X"
		}
	}
	return text
}

var dynamicReference = regexp.MustCompile(`^\{\{resolve:[a-z-]+:[^{}]*\}\}$`)

// blocks are maps, or lists of names and values, that people put secrets into
// under names of their own. The names are shown, the values are not.
var blocks = []string{"environment", "variables", "environmentvariables", "runtimeenvironmentvariables", "buildenvironmentvariables", "connectionproperties", "optionsettings"}

// notBlocks are types that use a block's name for settings of their own.
var notBlocks = map[string][]string{
	"AWS::CodeBuild::Project": {"environment"},
	"AWS::MWAA::Environment":  {"environment"},
}

// sensitive tells whether a value stands at a path whose values are hidden. A
// path has the names of members, without list indexes.
func sensitive(resourceType string, path []string) bool {
	if resourceType == "AWS::CloudFormation::Stack" && len(path) == 2 && path[0] == "Parameters" {
		return true // the child's NoEcho parameters are not known here
	}
	if resourceType == "AWS::ApiGateway::ApiKey" && len(path) == 1 && path[0] == "Value" {
		return true
	}
	last := path[len(path)-1]
	if len(path) > 1 {
		in := strings.ToLower(path[len(path)-2])
		if slices.Contains(blocks, in) && !slices.Contains(notBlocks[resourceType], in) {
			lower := strings.ToLower(last)
			return !slices.Contains(blocks, lower) && !slices.Contains(labels, lower)
		}
	}
	if len(path) > 1 && path[len(path)-2] == "TokenValidityUnits" {
		return false
	}
	return secretName(last)
}

// labels are the members of a block's entries that say which entry it is.
var labels = []string{"name", "key", "type", "namespace", "optionname", "resourcename"}

// namesSecret tells whether an object is a name and a value, and the name says
// that the value is a secret.
func namesSecret(o *value.Object) bool {
	for _, k := range []string{"Name", "Key", "ParameterKey", "HeaderName", "OptionName"} {
		if name := o.String(k); name != "" && secretName(name) {
			return true
		}
	}
	return false
}

// secretWords end the names of secrets. The words of a name are compared, so
// that PasswordLength, SecretArn and ClientTokenTtl are none.
var secretWords = []string{
	"password", "passwd", "pwd", "passphrase", "passcode", "secret", "secretstring", "secretbinary", "token", "credential", "credentials",
	"userdata", "apikey", "accesskey", "secretkey", "secretaccesskey", "privatekey", "signingkey", "encryptionkeyvalue", "sharedkey",
	"connectionstring", "authstring", "presharedkey", "secretstringtemplate", "keymaterial", "dsn",
}

// notSecret are names that end like one of a secret and hold a reference or
// settings.
var notSecret = []string{"generatesecretstring", "masterusersecret", "nexttoken", "clientrequesttoken", "clienttoken", "managemasteruserpassword", "usepasswordtoken", "accesscontrolallowcredentials"}

func secretName(name string) bool {
	w := words(name)
	secret := false
	for i := range w {
		end := strings.Join(w[i:], "")
		if slices.Contains(notSecret, end) || w[i] == "public" {
			return false
		}
		secret = secret || slices.Contains(secretWords, end)
	}
	return secret
}

// words splits a name at capitals, and at what is neither letter nor digit,
// into lower case.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// unmark writes marks as people read them: on the new side of a comparison a
// hidden value says that it changed.
func unmark(text string, changed bool) string {
	to := hidden
	if changed {
		to = strings.TrimSuffix(hidden, ")") + ", changed)"
	}
	return marks.ReplaceAllString(text, to)
}
