package redislimit

import (
	"context"
	_ "embed"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// An engine runs the two scripts and passes hints on to a member. A hint is a
// message that a host is offered to the member, or that others wait for the
// host.
type engine interface {
	// run runs joinScript or callScript with args. Before args, the script
	// gets another argument: how many times it was sent. This is the count in
	// sent.
	run(ctx context.Context, script *redis.Script, sent *sendings, args []any) ([]any, error)

	// listen calls hear() with the constant listens, and then with each message
	// on the channel, until the context or the connection ends.
	listen(ctx context.Context, channel string, hear func(message string))
}

// listens is the text that says that from now on no message is missed.
const listens = "+"

// sendings is an argument that counts how many times it is sent. A client may
// silently send a call again if the connection breaks before the answer.
type sendings struct{ n atomic.Int32 }

func (s *sendings) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, int64(s.n.Add(1)), 10), nil
}

var (
	//go:embed join.lua
	joinSource string
	//go:embed call.lua
	callSource string

	joinScript, callScript = redis.NewScript(joinSource), redis.NewScript(callSource)
)

// server is an engine in Redis or Valkey.
type server struct {
	client redis.UniversalClient
	keys   []string // the key of the fleet, and the key of its hosts
}

func (s *server) run(ctx context.Context, script *redis.Script, sent *sendings, args []any) ([]any, error) {
	args = append([]any{sent}, args...)
	reply, err := script.EvalSha(ctx, s.client, s.keys, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		// The last sending did not run, so it does not count. But an earlier
		// one may have run, on a primary that has been replaced since.
		sent.n.Add(-1)
		reply, err = script.Eval(ctx, s.client, s.keys, args...).Slice()
	}
	return reply, err
}

func (s *server) listen(ctx context.Context, channel string, hear func(string)) {
	sub := s.client.Subscribe(ctx, channel)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	for {
		received, err := sub.Receive(ctx)
		if err != nil {
			return
		}
		switch message := received.(type) {
		case *redis.Subscription:
			hear(listens)
		case *redis.Message:
			hear(message.Payload)
		}
	}
}
