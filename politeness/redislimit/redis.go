package redislimit

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// An engine runs the script and passes hints on to a member. A hint is the name
// of a host about which the member has to ask: the host is offered to the
// member, or others wait for it.
type engine interface {
	// run runs the script. Before args, the script gets another argument: how
	// many times it was sent.
	run(ctx context.Context, args []any) ([]any, error)

	// listen calls hear() with the constant listens, and then with each message
	// on the channel, until the context or the connection ends.
	listen(ctx context.Context, channel string, hear func(message string)) error
}

// listens is the text that says that from now on no message is missed.
const listens = "+"

//go:embed call.lua
var source string

var script = redis.NewScript(source)

// sendings is an argument that counts how many times it is sent. A client may
// silently send a call again if the connection breaks before the answer.
type sendings int

func (s *sendings) MarshalBinary() ([]byte, error) {
	*s++
	return strconv.AppendInt(nil, int64(*s), 10), nil
}

// server is an engine in Redis or Valkey.
type server struct {
	client redis.UniversalClient
	keys   []string // the keys of the fleet, of its hosts and of its sessions
}

func (s *server) run(ctx context.Context, args []any) ([]any, error) {
	reply, err := script.Run(ctx, s.client, s.keys, append([]any{new(sendings)}, args...)...).Slice()
	if err != nil {
		s.reload(ctx)
	}
	return reply, err
}

// reload makes the client of a cluster find out which node is the primary now.
// By itself, the client does so only now and then, and a failover would take a
// minute. The client does the work in the background.
func (s *server) reload(ctx context.Context) {
	if cluster, ok := s.client.(interface{ ReloadState(ctx context.Context) }); ok {
		cluster.ReloadState(ctx)
	}
}

func (s *server) listen(ctx context.Context, channel string, hear func(string)) error {
	sub := s.client.Subscribe(ctx, channel)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	for {
		received, err := sub.Receive(ctx)
		if err != nil {
			return err
		}
		switch message := received.(type) {
		case *redis.Subscription:
			hear(listens)
		case *redis.Message:
			hear(message.Payload)
		}
	}
}

// An AwayError says that Redis cannot be reached or refuses to serve. It comes
// inside a [politeness.DelayError], for a host that this member does not own.
type AwayError struct {
	Owner string    // the last known owner; "" means no owner is known
	Since time.Time // when Redis last answered
	Err   error     // the error of Redis or its client
}

func (e *AwayError) Error() string {
	owner := ""
	if e.Owner != "" {
		owner = "; then " + e.Owner + " of the fleet owned it"
	}
	since := e.Since.Format(time.RFC3339)
	if _, refused := errors.AsType[*refusedError](e.Err); refused {
		return fmt.Sprintf("redislimit: which member owns the host is not known: Redis has refused to serve the fleet since %s%s: %v", since, owner, e.Err)
	}
	return fmt.Sprintf("redislimit: which member owns the host is not known: Redis has not answered since %s%s; check that Redis runs: %v", since, owner, e.Err)
}

// Unwrap returns Err.
func (e *AwayError) Unwrap() error { return e.Err }

// A refusedError is an error that Redis has answered with.
type refusedError struct {
	advice string
	err    error
	clear  bool          // the error does not end by itself
	retry  time.Duration // the time until the next attempt
}

func (e *refusedError) Error() string {
	if e.advice == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("redislimit: Redis refuses the call: %s: %v", e.advice, e.err)
}

func (e *refusedError) Unwrap() error { return e.err }

// A versionError means that members of another version use the fleet.
type versionError struct {
	stored string // the version in Redis; "" means that it was lost a moment ago
	own    int    // this member's version
}

func (e *versionError) Error() string {
	return fmt.Sprintf("redislimit: members whose format has version %s use this Namespace, and this member's has version %d: "+
		"end the members of the other version, or give this one another Namespace; this member begins when the sessions of the others have ended",
		cmp.Or(e.stored, "(unknown)"), e.own)
}

var (
	errClosed = errors.New("redislimit: the Fleet is closed")
	errShared = errors.New("redislimit: two Limiters share a Fleet: make one for each")
	errMute   = errors.New("redislimit: the subscription is there, or seems to be, but no message arrives")
	errNew    = errors.New("redislimit: the fleet is new, or Redis has lost what it knew: no host is given away yet")
	errSlow   = errors.New("redislimit: no answer within Options.Timeout, even if the client goes on waiting: set its ContextTimeoutEnabled")
)
