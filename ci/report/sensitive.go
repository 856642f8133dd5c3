package report

import (
	"slices"
	"strings"
	"unicode"

	"github.com/org/cdkd-action/engine/value"
)

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
