package redislimit

import (
	"context"
	_ "embed"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// An engine runs the two scripts and carries hints.
type engine interface {
	// join runs join.lua.
	join(ctx context.Context, epoch, known string, lease int64) ([]any, error)

	// call runs call.lua. sent counts how many times the script was sent.
	call(ctx context.Context, sent *sendings, args []any) ([]any, error)

	// listen calls hear with each message on the channel until the context or
	// the connection ends.
	listen(ctx context.Context, channel string, hear func(message string))
}

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
	keys   []string // the fleet's key and its hosts' key
}

func (s *server) join(ctx context.Context, epoch, known string, lease int64) ([]any, error) {
	return joinScript.Run(ctx, s.client, s.keys, epoch, known, lease).Slice()
}

func (s *server) call(ctx context.Context, sent *sendings, args []any) ([]any, error) {
	reply, err := callScript.EvalSha(ctx, s.client, s.keys, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		sent.n.Store(0)
		reply, err = callScript.Eval(ctx, s.client, s.keys, args...).Slice()
	}
	return reply, err
}

func (s *server) listen(ctx context.Context, channel string, hear func(string)) {
	sub := s.client.Subscribe(ctx, channel)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { sub.Close() })()
	for {
		switch message, err := sub.Receive(ctx); m := message.(type) {
		case *redis.Message:
			hear(m.Payload)
		default:
			if err != nil {
				return
			}
		}
	}
}
