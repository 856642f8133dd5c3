package state

import (
	"errors"
	"fmt"
	"strings"
)

// A VersionError says that an object was written in a version that this engine
// does not read.
type VersionError struct {
	Key        string
	Found      string // as written
	Understood string // such as "1 to 11"

	isNewer bool
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %s, this release reads %s", e.Key, e.Found, e.Understood)
}

// Remedy says what to do about it.
func (e *VersionError) Remedy() string {
	return "use a newer release: the object was written by one"
}

// CodeMalformed is the code under which a malformed record is reported.
const CodeMalformed = "STATE_RESOURCES_MALFORMED"

// A MalformedError says what in an object is not as it must be. It names
// places and kinds, never values.
type MalformedError struct {
	Key      string
	Problems []string
	// Hint says what to do; "" for the general advice.
	Hint string
}

func (e *MalformedError) Error() string {
	const most = 5
	shown := e.Problems
	more := ""
	if len(shown) > most {
		more = fmt.Sprintf(" and %d more", len(shown)-most)
		shown = shown[:most]
	}
	return fmt.Sprintf("%s is malformed: %s%s", e.Key, strings.Join(shown, "; "), more)
}

// Remedy says what to do about it.
func (e *MalformedError) Remedy() string {
	if e.Hint != "" {
		return e.Hint
	}
	return "restore an earlier version of the object from the bucket's history; nothing was changed"
}

// A ConflictError says that an object is not the version that the writer saw:
// another process changed it in between.
type ConflictError struct {
	Key  string
	ETag ETag // the version expected; Absent when it was to be new
}

func (e *ConflictError) Error() string {
	if e.ETag == Absent {
		return fmt.Sprintf("%s was to be new and is there: it was made by another process", e.Key)
	}
	return fmt.Sprintf("%s is not the version %s any more: it was modified by another process", e.Key, e.ETag)
}

// Remedy says what to do about it.
func (e *ConflictError) Remedy() string {
	return "find out what else works on this stack, then run again: the next run plans from what is recorded now"
}

// An AccessError says that S3 denied a request.
type AccessError struct {
	Bucket, Key string // Key is "" for a request on the bucket
	Permission  string // the one that the request needs
	Err         error
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("access to %s in state bucket %s was denied: %v", objectName(e.Key), e.Bucket, e.Err)
}

func (e *AccessError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *AccessError) Remedy() string {
	text := fmt.Sprintf("allow %s on the bucket, and check that it belongs to this account", e.Permission)
	if e.Permission == "s3:GetObject" {
		text += "; without s3:ListBucket a missing object is answered like this too"
	}
	return text
}

// A NoBucketError says that there is no state bucket.
type NoBucketError struct {
	Bucket string
	Legacy string // the older default name, when both were looked for
}

func (e *NoBucketError) Error() string {
	if e.Legacy != "" {
		return fmt.Sprintf("there is no state bucket: neither %s nor %s exists", e.Bucket, e.Legacy)
	}
	return fmt.Sprintf("there is no state bucket %s", e.Bucket)
}

// Remedy says what to do about it.
func (e *NoBucketError) Remedy() string {
	return "make it with bootstrap, or choose another one with the input state-bucket, " +
		"the variable CDKD_STATE_BUCKET, or context.cdkd.stateBucket in cdk.json"
}

// A RegionError says that the bucket is in another region than the one asked.
type RegionError struct {
	Bucket string
	Region string // where the bucket is; "" when the answer did not say
	Err    error
}

func (e *RegionError) Error() string {
	where := "another region"
	if e.Region != "" {
		where = e.Region
	}
	return fmt.Sprintf("state bucket %s is in %s and was asked for elsewhere: %v", e.Bucket, where, e.Err)
}

func (e *RegionError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *RegionError) Remedy() string {
	return "allow s3:GetBucketLocation on the bucket, so that its region can be looked up"
}

// A RequestError is any other failed request on the bucket.
type RequestError struct {
	Bucket, Key string
	Doing       string // read, write, delete, list
	Err         error
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("%s %s in state bucket %s: %v", e.Doing, objectName(e.Key), e.Bucket, e.Err)
}

func (e *RequestError) Unwrap() error { return e.Err }

// Remedy says what to do about it, where the cause does not know better.
func (e *RequestError) Remedy() string {
	if cause, known := errors.AsType[interface {
		error
		Remedy() string
	}](e.Err); known {
		return cause.Remedy()
	}
	return "run the command again; if it fails in the same way, see whether S3 can be reached from here"
}

func objectName(key string) string {
	if key == "" {
		return "the objects"
	}
	return key
}
