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

// A Tally counts pages by outcome. It is safe for concurrent use.
type Tally struct {
	fetched, dropped, putBack atomic.Int64
}

// count counts a page. If it was not fetched, count prints the reason, unless
// the reason is that the host is not due.
func (t *Tally) count(again time.Time, err error) {
	switch {
	case err == nil:
		t.fetched.Add(1)
	case again.IsZero():
		t.dropped.Add(1)
	default:
		t.putBack.Add(1)
	}
	_, isNotDue := errors.AsType[*politeness.DelayError](err)
	if err != nil && !isNotDue {
		fmt.Println(err)
	}
}

// String returns the counts in words.
func (t *Tally) String() string {
	done := t.fetched.Load() + t.dropped.Load()
	putBack := t.putBack.Load()
	return fmt.Sprintf("%d fetched, %d dropped, %d put back, %.1f deliveries a page",
		t.fetched.Load(), t.dropped.Load(), putBack, float64(done+putBack)/float64(max(done, 1)))
}

// Follow prints the Tally every few seconds. left returns the number of pages
// in the queue. Follow returns when ctx ends, when left returns 0, or if the
// first call of left returns an error. It prints later errors and continues,
// because the server of the queue may be unreachable for a while.
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

// Part returns the number of the part of a queue, from 0 to n-1, to which a
// page belongs. It returns an error if page is not a URL with a host. All pages
// of a host are in one part, so that the worker of a part can keep the pace of
// its hosts without communicating with other workers.
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
