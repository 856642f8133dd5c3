package state

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// A HeldError says that a lock could not be had because somebody holds it, or
// because what stands in its place cannot be read.
type HeldError struct {
	Subject       string // "stack", or what the caller calls it
	Stack, Region string

	// Readable is false when the last attempt was refused and no lock could
	// be read then: it was released in between, or it is not a lock.
	Readable  bool
	Owner     string // "" when the holder is not named
	Operation string
	ExpiresAt time.Time // zero: unknown
	Seen      time.Time // when that was read
	Attempts  int       // all of them; 0 when it was only looked at

	// Refused says why an expired lock was left alone; "" when it was not.
	Refused string

	bucket, prefix, profile string
}

func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the lock of %s %s in %s ", e.Subject, printable(e.Stack), printable(e.Region))
	switch {
	case !e.Readable:
		b.WriteString("could not be taken, and no lock could be read at the last attempt")
	case e.Owner == "":
		b.WriteString("is held by a holder that it does not name")
	default:
		b.WriteString("is held by " + printable(e.Owner))
	}
	if e.Readable {
		if e.Operation != "" {
			fmt.Fprintf(&b, " for %s", printable(e.Operation))
		}
		b.WriteString("; " + e.Expiry())
	}
	if e.Refused != "" {
		b.WriteString(", but " + e.Refused)
	}
	switch e.Attempts {
	case 0:
	case 1:
		b.WriteString(" (1 attempt)")
	default:
		fmt.Fprintf(&b, " (%d attempts)", e.Attempts)
	}
	return b.String()
}

// Expiry says in words when the lock expires.
func (e *HeldError) Expiry() string {
	left := e.ExpiresAt.Sub(e.Seen)
	switch {
	case e.ExpiresAt.IsZero():
		return "when it expires is not known"
	case left <= 0:
		return "it has expired"
	case left < time.Minute:
		return "it expires in less than a minute"
	case left > 365*24*time.Hour:
		return "it expires in more than a year"
	}
	minutes := int(left.Round(time.Minute) / time.Minute)
	if minutes == 1 {
		return "it expires in 1 minute"
	}
	return fmt.Sprintf("it expires in %d minutes", minutes)
}

// Remedy says what to do about it. Its last line is the command that removes
// the lock, unless the names cannot be pasted safely.
func (e *HeldError) Remedy() string {
	advice := "wait until the holder is done; only if you know that it is dead, unlock with the command force-unlock"
	switch {
	case !e.Readable:
		advice = "run again; if it stays like this, what stands in the lock's place is not a lock, and only force-unlock removes it"
	case e.Owner == "":
		advice = "find out who works on the stack; if nobody does, unlock with the command force-unlock"
	}
	if c := e.Command(); c != "" {
		advice += ":\n" + c
	}
	return advice
}

var (
	pasteable  = regexp.MustCompile(`^[A-Za-z0-9._~/-]+$`)
	importable = regexp.MustCompile(`^[A-Za-z0-9]+=[A-Za-z0-9._~/:+@,=-]+$`)
)

// Record says where the record of the stack is.
func (e *HeldError) Record() string {
	return "s3://" + e.bucket + "/" + e.prefix + "/" + e.Stack + "/" + e.Region + "/" + recordName
}

// Command is the command that removes the lock, "" when a name in it could
// mean something to a shell.
func (e *HeldError) Command() string {
	return cli("force-unlock", e.Stack, e.Region, e.profile, e.bucket, e.prefix)
}

// cli is a command of the cdkd command line about a stack, "" when a name in it
// could mean something to a shell.
func cli(command, stack, region, profile, bucket, prefix string) string {
	words := []string{stack, "--stack-region", region}
	if profile != "" {
		words = append(words, "--profile", profile)
	}
	words = append(words, "--state-bucket", bucket)
	for _, w := range words {
		if !pasteable.MatchString(w) {
			return ""
		}
	}
	if strings.HasPrefix(stack, "-") {
		return ""
	}
	switch {
	case prefix == DefaultPrefix:
	case prefix == "":
		words = append(words, "--state-prefix", "''")
	case !pasteable.MatchString(prefix):
		return ""
	default:
		words = append(words, "--state-prefix", prefix)
	}
	return "cdkd " + command + " " + strings.Join(words, " ")
}

// printable drops what could steer a terminal or a workflow's log, and what is
// too long to be a name.
func printable(s string) string {
	const most = 200
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
