// Package provider says what it takes to provision a resource type, and drives
// the types that are provisioned by direct calls of the AWS SDK.
//
// A type is a value of Resource: what is special about it, and nothing else.
// What is the same for all (names, tags, satellites, retries, waiting,
// recording, coverage) is the driver's. A property that no part of a type's
// description claims is never dropped: it sends the resource to Cloud Control.
//
// The package imports no AWS service; those are in awssdk, one file a service.
package provider

import (
	"context"
	"errors"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// A Provider makes, changes, reads and deletes resources of some types. The
// SDK driver, Cloud Control, custom resources and nested stacks are providers.
//
// The context ends calls. A wait for a resource to settle also ends, with
// ErrDraining, when Request.Draining closes: by then Request.Made has been
// told the id.
type Provider interface {
	Create(ctx context.Context, r *Request) (Created, error)
	Update(ctx context.Context, r *Request) (Updated, error)
	Delete(ctx context.Context, r *Request) (Deleted, error)
	// Read returns the resource's properties in CloudFormation's shape, or
	// ErrNotFound.
	Read(ctx context.Context, r *Request) (*value.Object, error)
}

// A Stack is where a resource belongs.
type Stack struct {
	Name      string
	ID        string // AWS::StackId
	Region    string
	AccountID string
	Partition string // aws, aws-cn, …
}

// A Request is one operation on one resource.
type Request struct {
	Session *Session
	Stack   Stack

	LogicalID string
	Type      string

	// PhysicalID is "" before a create.
	PhysicalID string
	// Properties are the resolved ones wanted; for Delete and Read, those
	// recorded. Secrets are in clear: never log them.
	Properties *value.Object
	// Masked are the leaves of Properties that are NoEcho values, however short.
	Masked []secret.Path
	// Previous are the recorded properties, for Update. A leaf that was a secret
	// holds its expression.
	Previous *value.Object
	// Unsure says that Previous may not be what is in AWS, because an earlier
	// update had no answer.
	Unsure bool
	// Attributes are the recorded ones, nil before a create.
	Attributes *value.Object

	// Name is the physical name to create under: declared or generated, "" for
	// types that have none. NameProperty is the property that it belongs to.
	Name, NameProperty string
	// Declared tells that the template gave the name.
	Declared bool
	// Held tells that what holds the name was looked up before a create, and is
	// the stack's own to take back.
	Held bool
	// Token makes a create that takes a client token safe to repeat.
	Token string
	// OwnerTag, when set, is the value of the tag OwnerTagKey that a create adds,
	// where the create call takes tags, so that its result can be told to be ours.
	OwnerTag string
	// FinalSnapshot, when set, names the snapshot that a delete leaves, for types
	// whose delete call takes one.
	FinalSnapshot string
	// Wait says how long to wait for resources to settle.
	Wait WaitMode

	// Made, when set, is told the id (and the attributes known so far) as soon
	// as a create was answered, before anything else is done or waited for.
	Made func(Created)
	// Draining, when set, closes when waits are to be abandoned.
	Draining <-chan struct{}
	// Notice, when set, takes a line for the log: a wait's heartbeat, a warning.
	Notice func(text string)
	// Waiting, when set, is told what the operation waits for, as often as it looks,
	// and takes the heartbeat in Notice's place: line is "" when none is due.
	Waiting func(what, line string)
	// Untagged, when set, is told why a create was sent without the OwnerTag.
	Untagged func(denied error)
}

// OwnerTagKey is the tag that proves which create made a resource.
const OwnerTagKey = "cdkd-action:create"

// ErrUntagged says that what a create made cannot be found, because it was sent
// without the ownership tag.
var ErrUntagged = errors.New("it was sent without the tag " + OwnerTagKey + ", by which alone it could be found")

// A WaitMode says which waits an operation makes.
type WaitMode int

const (
	WaitDefault WaitMode = iota // where a deploy needs it, or where failure shows
	WaitNone                    // only where a next call would fail without
	WaitFull                    // until everything is as the template says
)

// Created is what a create made.
type Created struct {
	PhysicalID string
	Attributes *value.Object // by name as in Fn::GetAtt, dotted names flat; nil: none
	// Effective, when not nil, is recorded in place of the properties sent.
	Effective *value.Object
	// NoEcho marks every attribute as a secret.
	NoEcho bool
	// Unsettled, when not "", tells how to see the state of a resource that the
	// wait mode did not wait for.
	Unsettled string
}

// Updated is what an update in place left.
type Updated struct {
	Attributes *value.Object // nil: the recorded ones still hold
	Effective  *value.Object
	// PhysicalID, when it differs from the request's, says that the update
	// replaced the resource (custom resources do).
	PhysicalID string
	// Partial, when not "", says what could not be applied.
	Partial string
	// NoEcho marks every attribute as a secret.
	NoEcho bool
	// Unsettled, when not "", tells how to see the state of a resource that the
	// wait mode did not wait for.
	Unsettled string
}

// Deleted is what became of a delete.
type Deleted struct {
	// Skipped, when not "", says why the resource is still there on purpose.
	Skipped string
}
