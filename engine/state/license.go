package state

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// skew is what the clock of a run and that of a service may differ by.
const skew = time.Minute

// What an Entry's base says.
const (
	adoptBase   = "adopt-by-name:"
	createBase  = "create:"
	replaceBase = "replace:"
)

// An Intent is a create that is about to be sent.
type Intent struct {
	LogicalID, Type string

	// Name is the generated physical name, for a type that is looked up by name
	// before it is created. The others have none, and get a token.
	Name string
	// Called is the name of any other, as far as it is known before, "" if not: under
	// another one it is another resource.
	Called string
	// Replaces is the physical id of the old copy, when this is the create half
	// of a replacement.
	Replaces string

	// Keep goes on from what an earlier run wrote: the name is held by what its
	// entry licensed, or the create is sent once more with the same token. The
	// entry stays as it is, so that it still proves what it did.
	Keep bool
}

func (i Intent) base() string {
	switch {
	case i.Name != "":
		return adoptBase + i.Type
	case i.Replaces != "":
		return replaceBase + i.Type + ":" + shortHash(i.Replaces)
	}
	return createBase + i.Type
}

func shortHash(physicalID string) string {
	sum := sha256.Sum256([]byte(physicalID))
	return hex.EncodeToString(sum[:4])
}

// Type is the resource type that the entry is of, "" for an entry of another
// writer's kind.
func (e Entry) Type() string {
	for _, base := range [...]string{adoptBase, createBase} {
		if typ, ok := strings.CutPrefix(e.Base, base); ok {
			return typ
		}
	}
	if rest, ok := strings.CutPrefix(e.Base, replaceBase); ok {
		return rest[:max(strings.LastIndexByte(rest, ':'), 0)]
	}
	return ""
}

// Answers tells whether a create is the one that the entry is about.
func (e Entry) Answers(i Intent) bool {
	renamed := e.Called != "" && i.Called != "" && e.Called != i.Called
	return e.Base == i.base() && (i.Name == "" || e.Token == i.Name) && !renamed
}

// aside is the name of an entry whose logical id is about another create by now.
// Logical ids have no @.
func aside(logicalID string, e Entry) string {
	return logicalID + "@" + shortHash(e.Base+" "+e.Token)
}

// Subject is the logical id that an entry was made for.
func Subject(name string) string {
	id, _, _ := strings.Cut(name, "@")
	return id
}

// ByName tells whether the entry vouches for a name, which its Token then is.
func (e Entry) ByName() bool { return strings.HasPrefix(e.Base, adoptBase) }

// done tells whether a record says how the create ended.
func (e Entry) done(row *Resource) bool {
	if row == nil || row.ResourceType != e.Type() {
		return false
	}
	if e.ByName() {
		return NameIn(row.ResourceType, row.PhysicalID) == e.Token
	}
	if strings.HasPrefix(e.Base, replaceBase) {
		return !strings.HasSuffix(e.Base, ":"+shortHash(row.PhysicalID))
	}
	return true
}

// licenses tells whether an intent for this name accounts for a resource that
// holds it. created is the zero time when the service does not tell, or may not
// be asked: then only an intent of a run that simply died does, since of any
// other it is known when it can last have made something.
func (e Entry) licenses(created time.Time, abandonedAt int64) bool {
	bounded := abandonedAt > 0 && e.FirstSentAt <= abandonedAt
	if created.IsZero() {
		return e.FailedAt == 0 && !bounded
	}
	return !created.Before(time.UnixMilli(e.FirstSentAt).Add(-skew)) &&
		(e.FailedAt == 0 || within(created, e.FailedAt)) &&
		(!bounded || within(created, abandonedAt))
}

// within tells whether a resource was made no later than a moment.
func within(created time.Time, ms int64) bool {
	return !created.After(time.UnixMilli(ms).Add(skew))
}

// untagged is how the token of a create begins that is sent without the tag that
// proves whose the resource is. Others have no capitals.
const untagged = "F"

// OwnerTagOf is the value of the tag that a create gave, by its token, or that of
// an attempt by Cloud Control, which has a number behind it. "" is none.
func OwnerTagOf(token string) string {
	tag, _, _ := strings.Cut(token, "-")
	if strings.HasPrefix(tag, untagged) {
		return ""
	}
	return tag
}

// OwnerTag is the value of the tag that proves which create made a resource:
// the entry's token, or, where that is a name, which others could guess, a
// keyed hash over what the entry is. "" is a create that gave none; one by name
// may have given none all the same.
func (e Entry) OwnerTag(nonce, logicalID string) string {
	if !e.ByName() {
		return OwnerTagOf(e.Token)
	}
	h := hmac.New(sha256.New, []byte(nonce))
	h.Write([]byte(Subject(logicalID) + "\x00" + e.Token + "\x00" + strconv.FormatInt(e.FirstSentAt, 10)))
	return hex.EncodeToString(h.Sum(nil)[:16])
}
