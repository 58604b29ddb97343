package redislimit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// call is one command to Redis. Those of the same moment go in one pipeline.
type call struct {
	cmd            *redis.Cmd
	done           chan struct{} // closed with the answer; nil: nobody waits
	settled        atomic.Bool   // answered, or given up
	late           func(*call)   // what to do with an answer after that; may be nil
	sent, received time.Time
}

const (
	maxPipelines = 4
	maxBatch     = 256
)

var errSlow = errors.New("redislimit: no answer from Redis within Options.Timeout")

// do sends a command and waits for the answer until limit.
func (b *Backend) do(ctx context.Context, limit time.Time, late func(*call), args ...any) (*call, error) {
	c := &call{cmd: redis.NewCmd(ctx, args...), done: make(chan struct{}), late: late}
	b.mu.Lock()
	b.send(c)
	b.mu.Unlock()
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	err := errSlow
	select {
	case <-c.done:
		return c, c.cmd.Err()
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
	}
	if c.settled.CompareAndSwap(false, true) {
		return nil, err
	}
	<-c.done // the answer came at the same moment
	return c, c.cmd.Err()
}

// tell sends the script something that nobody waits for. b.mu is held.
func (b *Backend) tell(host, op string, args ...any) {
	if b.sha != "" {
		b.send(&call{cmd: redis.NewCmd(context.Background(), b.script(host, op, args...)...)})
	}
}

// script is the command that runs pace.lua. b.mu is held.
func (b *Backend) script(host, op string, args ...any) []any {
	return append([]any{"evalsha", b.sha, 2, b.prefix + host, b.epochKey, op}, args...)
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
		case c.done == nil:
		case c.settled.CompareAndSwap(false, true):
			close(c.done)
		case c.late != nil && c.cmd.Err() == nil:
			c.late(c)
		}
	}
}
