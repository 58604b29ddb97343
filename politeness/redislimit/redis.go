package redislimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// An engine runs the script and delivers notifications to a member. A
// notification is a message on the channel of the member's session: usually the
// name of a host that the member should request again, for example because the
// host is offered to the member, or because others wait for it. Some heartbeats
// also cause a notification, which tests the subscription.
type engine interface {
	// run runs the script. It inserts one argument before args: how often the
	// call was sent.
	run(ctx context.Context, args []any) ([]any, error)

	// subscribe calls receive with the constant subscribed, and then with each
	// message on the channel, until the context or the connection ends.
	subscribe(ctx context.Context, channel string, receive func(message string)) error
}

// subscribed is received when the subscription has begun. Messages that were
// published earlier are not received.
const subscribed = "+"

//go:embed call.lua
var source string

var script = redis.NewScript(source)

// A sendCounter is an argument of a command. Its value is how often the command
// was sent: the client silently sends a command again if the connection breaks
// before the reply.
type sendCounter int

func (c *sendCounter) MarshalBinary() ([]byte, error) {
	*c++
	return strconv.AppendInt(nil, int64(*c), 10), nil
}

// A server is an engine in Redis or Valkey.
type server struct {
	client redis.UniversalClient
	keys   []string // of the fleet, of its hosts and of its sessions
}

func (s *server) run(ctx context.Context, args []any) ([]any, error) {
	counter := new(sendCounter)
	args = append([]any{counter}, args...)
	reply, err := script.EvalSha(ctx, s.client, s.keys, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		*counter-- // the server does not know the script yet, so the call has not run
		reply, err = script.Eval(ctx, s.client, s.keys, args...).Slice()
	}
	if err != nil {
		s.reload(ctx)
	}
	return reply, err
}

// reload makes the client of a cluster look up the primary, in the background.
// Without it, the client notices a failover only after about a minute.
func (s *server) reload(ctx context.Context) {
	if cluster, ok := s.client.(interface{ ReloadState(ctx context.Context) }); ok {
		cluster.ReloadState(ctx)
	}
}

func (s *server) subscribe(ctx context.Context, channel string, receive func(string)) error {
	subscription := s.client.Subscribe(ctx, channel)
	defer subscription.Close()
	defer context.AfterFunc(ctx, func() { subscription.Close() })()
	for {
		received, err := subscription.Receive(ctx)
		if err != nil {
			return err
		}
		switch message := received.(type) {
		case *redis.Subscription:
			receive(subscribed)
		case *redis.Message:
			receive(message.Payload)
		}
	}
}

// An AwayError means that Redis does not answer or returns errors, so a host
// that this member does not own cannot be requested. A [politeness.DelayError]
// wraps it.
type AwayError struct {
	Owner string    // the last known owner; "" means that none is known
	Since time.Time // when Redis last answered
	Err   error     // the error of Redis or its client
}

func (e *AwayError) Error() string {
	owner := ""
	if e.Owner != "" {
		owner = " (the last known owner is " + e.Owner + " of the fleet)"
	}
	since := e.Since.Format(time.RFC3339)
	if _, ok := errors.AsType[*rejectedError](e.Err); ok {
		return fmt.Sprintf("redislimit: this member has received no host since %s%s: %v", since, owner, e.Err)
	}
	return fmt.Sprintf("redislimit: Redis has not answered since %s%s; check that Redis runs: %v", since, owner, e.Err)
}

// Unwrap returns Err.
func (e *AwayError) Unwrap() error { return e.Err }

var (
	errClosed          = errors.New("redislimit: the Fleet is closed")
	errShared          = errors.New("redislimit: two Limiters use the same Fleet: call New for each Limiter")
	errNoNotifications = errors.New("redislimit: the subscription seems to exist, but no message arrives")
	errNewEpoch        = errors.New("redislimit: the fleet has just started, or Redis has lost its state: hosts without an owner are paused")
	errTimeout         = errors.New("redislimit: no reply within Options.Timeout; if the client waits longer, set its ContextTimeoutEnabled")
)
