package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A Tally counts what became of pages. It is safe for concurrent use.
type Tally struct {
	fetched, dropped, putBack atomic.Int64
}

// count counts a page. It prints why the page was not fetched, unless its host
// is just not due.
func (t *Tally) count(again time.Time, err error) {
	switch {
	case err == nil:
		t.fetched.Add(1)
	case again.IsZero():
		t.dropped.Add(1)
	default:
		t.putBack.Add(1)
	}
	if _, early := errors.AsType[*politeness.DelayError](err); err != nil && !early {
		fmt.Println(err)
	}
}

// String returns what became of the pages so far.
func (t *Tally) String() string {
	done, back := t.fetched.Load()+t.dropped.Load(), t.putBack.Load()
	return fmt.Sprintf("%d fetched, %d dropped, %d put back, %.1f deliveries a page",
		t.fetched.Load(), t.dropped.Load(), back, float64(done+back)/float64(max(done, 1)))
}

// Follow prints the Tally every few seconds. It returns when ctx ends, or when
// left, which returns how many pages are in the queue, has returned 0. Follow
// prints the errors of left, but for the first call, whose error it returns:
// the queue's server may be away for a while.
func (t *Tally) Follow(ctx context.Context, out io.Writer, left func(context.Context) (int, error)) error {
	for ticks := 0; ; ticks++ {
		n, err := left(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && ticks == 0:
			return err
		case err != nil:
			fmt.Fprintln(out, "the queue is unreachable:", err)
		case n == 0:
			return nil
		case ticks%5 == 0:
			fmt.Fprintf(out, "%s; pages left in the queue: %d\n", t, n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// Part returns which of n parts of a queue the URL belongs to. All pages of a
// host are in one part. So one worker for each part can keep the pace of its
// hosts without asking the others.
func Part(page string, n int) (int, error) {
	u, err := url.Parse(page)
	if err != nil {
		return 0, err
	}
	host, err := politeness.HostKey(context.Background(), u)
	if err != nil {
		return 0, err
	}
	sum := fnv.New32a()
	io.WriteString(sum, host)
	return int(sum.Sum32() % uint32(n)), nil
}
