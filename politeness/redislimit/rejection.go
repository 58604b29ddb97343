package redislimit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A rejectedError is an error that Redis has returned, or an answer of the
// script that means that this member cannot join the fleet.
type rejectedError struct {
	advice     string // what the user can do; "" if err contains it
	err        error
	persistent bool          // the error does not end without the user's help
	retryIn    time.Duration // the time until the next attempt
}

func (e *rejectedError) Error() string {
	if e.advice == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("redislimit: Redis returned an error: %s: %v", e.advice, e.err)
}

func (e *rejectedError) Unwrap() error { return e.err }

// A versionError means that members with another format version use the
// Namespace.
type versionError struct {
	stored string // the version in Redis; "" means that it was lost a moment ago
	own    int    // this member's version
}

func (e *versionError) Error() string {
	return fmt.Sprintf("redislimit: members with format version %s use this Namespace, and this member has version %d: "+
		"stop the members of the other version, or choose another Namespace; this member starts when their sessions have ended",
		cmp.Or(e.stored, "(unknown)"), e.own)
}

// The times until the next attempt to reach Redis.
const (
	retryInterval        = 250 * time.Millisecond
	otherVersionInterval = time.Second
	rejectedInterval     = 5 * time.Second       // if Redis needs another configuration
	newEpochInterval     = 25 * time.Millisecond // if a session must be started in a new epoch
)

const (
	missingPermission = "the user lacks a permission that the package documentation lists"
	unknownCommand    = "the server or a proxy does not support a command that the package documentation lists"
)

// knownRejections are the errors that do not end without the user's help, so
// they are logged at once. An error matches if its first word is code, or if it
// contains part.
var knownRejections = []struct {
	code, part string
	advice     string
	retryIn    time.Duration
}{
	{part: "ompiling script", advice: "the server is too old: use Redis 7.0 or later, or Valkey", retryIn: rejectedInterval},
	{code: "NOPERM", advice: missingPermission, retryIn: rejectedInterval},
	{code: "NOAUTH", advice: missingPermission, retryIn: rejectedInterval},
	{code: "WRONGPASS", advice: missingPermission, retryIn: rejectedInterval},
	{part: "user executing the script can't", advice: missingPermission, retryIn: rejectedInterval},
	{part: "nknown command", advice: unknownCommand, retryIn: rejectedInterval},
	{part: "nknown Redis command", advice: unknownCommand, retryIn: rejectedInterval},
	{code: "WRONGTYPE", advice: "another program uses keys of this namespace: choose another Namespace", retryIn: rejectedInterval},
	{code: "MISCONF", advice: "the server cannot save its data and accepts no writes: check its log and its disk", retryIn: retryInterval},
	{code: "READONLY", advice: "the server is a replica: configure the client with the address of the primary", retryIn: retryInterval},
	{code: "BUSY", advice: "another script has been running for too long: end it with SCRIPT KILL", retryIn: retryInterval},
}

// asRejection returns err as a rejectedError, or nil if err is neither an error
// that Redis has returned nor a versionError.
func asRejection(err error) *rejectedError {
	if _, ok := errors.AsType[*versionError](err); ok {
		return &rejectedError{err: err, persistent: true, retryIn: otherVersionInterval}
	}
	if _, ok := errors.AsType[redis.Error](err); !ok {
		return nil
	}
	text := err.Error()
	code, _, _ := strings.Cut(text, " ")
	for _, r := range knownRejections {
		hasPart := r.part != "" && strings.Contains(text, r.part)
		if code == r.code || hasPart {
			return &rejectedError{advice: r.advice, err: err, persistent: true, retryIn: r.retryIn}
		}
	}
	// An error such as LOADING may end soon.
	return &rejectedError{advice: "the server's message has the cause", err: err, retryIn: retryInterval}
}
