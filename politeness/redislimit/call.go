package redislimit

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// call is one command to Redis. Those of the same moment go in one pipeline, and
// have nothing else in common: each has its own limit, context and error, and
// whoever gives up does so alone. (The client's AutoPipeline does the like, but is
// experimental, and has to be closed.)
type call struct {
	cmd            *redis.Cmd
	wait           *wait       // nil: nobody waits
	settled        atomic.Bool // answered, or given up
	take           *slot       // what is taken, to be given back if the answer comes after that; nil: nothing
	sent, received time.Time
}

// wait is what a goroutine waits for an answer with. It is used again and again,
// which saves each call four allocations.
type wait struct {
	answered chan struct{} // holds one; empty but between answer and waiter
	timer    *time.Timer   // stopped between uses
}

func newWait() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &wait{answered: make(chan struct{}, 1), timer: timer}
}

const (
	maxPipelines = 4
	maxBatch     = 256
)

var errSlow = errors.New("redislimit: no answer from Redis within Options.Timeout")

// do sends a command and waits for the answer until limit.
func (b *Backend) do(ctx context.Context, limit time.Time, take *slot, args ...any) (*call, error) {
	w := b.waits.Get().(*wait)
	defer b.waits.Put(w)
	w.timer.Reset(time.Until(limit))
	defer w.timer.Stop()
	c := &call{cmd: redis.NewCmd(ctx, args...), wait: w, take: take}
	b.mu.Lock()
	b.send(c)
	b.mu.Unlock()
	err := errSlow
	select {
	case <-w.answered:
		return c, c.cmd.Err()
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.timer.C:
	}
	if c.settled.CompareAndSwap(false, true) {
		return nil, err
	}
	<-w.answered // it came at the same moment
	return c, c.cmd.Err()
}

// tell sends the script something that nobody waits for. b.mu is held.
func (b *Backend) tell(host, op string, args ...any) {
	if b.sha != "" {
		args = append([]any{"evalsha", b.sha, 2, b.prefix + host, b.epochKey, op}, args...)
		b.send(&call{cmd: redis.NewCmd(context.Background(), args...)})
	}
}

// send queues c. b.mu is held.
func (b *Backend) send(c *call) {
	b.calls = append(b.calls, c)
	if b.pipelines < maxPipelines {
		b.pipelines++
		go b.drain()
	}
}

// drain sends what is queued, until nothing is.
func (b *Backend) drain() {
	for {
		runtime.Gosched() // who is about to ask, such as those that have just been answered, joins in
		b.mu.Lock()
		n := min(len(b.calls), maxBatch)
		if n == 0 {
			b.calls = nil
			b.pipelines--
			b.mu.Unlock()
			return
		}
		batch := b.calls[:n:n]
		b.calls = b.calls[n:]
		b.mu.Unlock()
		b.exchange(batch)
	}
}

func (b *Backend) exchange(batch []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	pipe := b.client.Pipeline()
	for _, c := range batch {
		if !c.settled.Load() {
			pipe.Process(ctx, c.cmd)
		}
	}
	if pipe.Len() == 0 {
		return
	}
	sent := time.Now()
	pipe.Exec(ctx) // each command has its own error
	received := time.Now()
	for _, c := range batch {
		c.sent, c.received = sent, received
		switch {
		case c.wait == nil:
		case c.settled.CompareAndSwap(false, true):
			c.wait.answered <- struct{}{}
		case c.take != nil && c.cmd.Err() == nil && c.take.read(c) == nil:
			c.take.Free() // who wanted it has gone
		}
	}
}
