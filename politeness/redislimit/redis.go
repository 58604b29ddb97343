package redislimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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

// A desk is what a Fleet and its goroutine share: the way to Redis, and the
// inbox through which the Limiter's goroutines tell the Fleet's what to do.
type desk struct {
	engine         engine
	prefix         string // how the keys begin
	lease, timeout time.Duration
	log            *slog.Logger

	trust atomic.Pointer[time.Time] // when the last successful renewal was sent; nil means no session
	hung  atomic.Int32              // how many calls of engine.run have not returned yet
	wake  chan struct{}             // holds one value if the inbox is not empty

	mu    sync.Mutex    // held for moments; taken after the Limiter's lock, never before it
	inbox []func()      // what the goroutine has to do next
	done  chan struct{} // closed when the goroutine has ended; nil means it does not run
	left  *bool         // Redis has confirmed the end of the session; valid after done is closed
}

// put makes the goroutine call do() as soon as the goroutine runs. The caller
// must hold d.mu.
func (d *desk) put(do func()) {
	d.inbox = append(d.inbox, do)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// hear puts a message into the inbox: the goroutine will call do. An empty text
// says that no more messages will come.
func (d *desk) hear(text string, do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text == "" || len(d.inbox) < 10_000 { // a hint may be dropped, because a later call brings the same news
		d.put(do)
	}
}

// Trusted implements politeness.Fleet. It reports whether both clocks say that
// the Lease is not over. One clock
// is not enough, because it may fall behind: the monotonic clock may stand
// still while the machine is suspended, and the wall clock may be set back.
func (d *desk) Trusted() bool {
	sent := d.trust.Load()
	if sent == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*sent) < d.lease && now.Round(0).Sub(sent.Round(0)) < d.lease
}

// ask runs a script and waits for its answer, but no longer than Timeout. It
// was sent as often as sent says.
func (d *desk) ask(script *redis.Script, args ...any) (reply []any, sent int32, err error) {
	if d.hung.Load() >= 16 {
		return nil, 0, errHung
	}
	var answer []any // written before "came" receives a value
	count, came := new(sendings), make(chan error, 1)
	d.hung.Add(1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
		defer cancel()
		var err error
		answer, err = d.engine.run(ctx, script, count, args)
		d.hung.Add(-1)
		came <- err
	}()
	select {
	case err := <-came:
		return answer, count.n.Load(), err
	case <-time.After(d.timeout):
		return nil, count.n.Load(), errSlow
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
	return fmt.Sprintf("redislimit: which member owns the host is not known: Redis has not answered since %s%s; check that Redis runs: %v",
		e.Since.Format(time.RFC3339), owner, e.Err)
}

// Unwrap returns Err.
func (e *AwayError) Unwrap() error { return e.Err }

var (
	errClosed = errors.New("redislimit: the Fleet is closed")
	errShared = errors.New("redislimit: two Limiters share a Fleet: make one for each")
	errHung   = errors.New("redislimit: the client does not return: set its timeouts, and ContextTimeoutEnabled")
	errNew    = errors.New("redislimit: the fleet is new, or Redis has lost what it knew: no host is given away yet")
	errSlow   = errors.New("redislimit: no answer within Options.Timeout")
)
