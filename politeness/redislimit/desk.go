package redislimit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

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

// trusts reports whether both clocks say that the Lease is not over. One clock
// is not enough, because it may fall behind: the monotonic clock may stand
// still while the machine is suspended, and the wall clock may be set back.
func (d *desk) trusts() bool {
	sent := d.trust.Load()
	if sent == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*sent) < d.lease && now.Round(0).Sub(sent.Round(0)) < d.lease
}

// ask runs a script and waits for its answer, but no longer than Timeout. The
// result "sent" says how many times the script was sent.
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
