// Asynq crawls the pages of a queue in asynq, which keeps it in Redis. Start a
// server, put URLs into the queue, and start as many workers as you like:
//
//	redis-server --port 6379 --appendonly yes
//	go run ./asynq put http://example.com/ http://example.com/page
//	go run ./asynq work
//
// Flags, such as -redis and -user-agent, precede put or work. Without
// arguments, put reads URLs from standard input.
//
// A worker ends when the queue is empty. SIGTERM or Ctrl-C ends it earlier, and
// its pages are returned to the queue. (go run does not forward SIGTERM, so
// build the command for that.) If a worker is killed, another one takes its
// pages; their hosts are paused for up to 25 s. Redirects are not followed: in
// save, put resp.Location() into the queue. If you put links too, keep finished
// tasks with asynq.Retention: otherwise a page is fetched anew for each later
// link.
//
// A page whose server responds with 5xx is retried after a minute, then after
// 2, 4 and so on, up to an hour. After the eighth such response, two hours
// after the first, asynq archives the page (flags -failures and -retry). A page
// without a response, or one that could not be stored, is retried after a
// minute, without a limit. The worker prints the reason.
//
// What to copy:
//
//   - From internal/worker/worker.go: New, whose client follows no redirect,
//     Fetch without its count, and the methods that Fetch calls; then the error
//     putBack, with RetryDelayFunc, which returns the time until the page may
//     be retried, and IsFailure, which returns true only for a 5xx. Therefore
//     asynq counts the 5xx of a page, in GetRetryCount, and neither a host that
//     is not due nor a killed worker. MaxRetry has no effect, because Fetch
//     determines when a page is dropped.
//   - asynq.SkipRetry for what robots.txt forbids. asynq archives such a page.
//   - The Limiter's Fleet, by package redislimit. asynq gives the pages of one
//     host to any worker, so the workers must share the pace. Redis also shares
//     each robots.txt, by package redisstore.
//
// Settings that matter:
//
//   - --appendonly yes. Without it, a Redis that is killed loses the pages that
//     were put since its last snapshot. With it, Redis may lose the last second
//     of changes (appendfsync everysec): pages that were put then are lost, and
//     pages that were done then are delivered, and fetched, a second time.
//   - DelayedTaskCheckInterval determines how late a page that was put back is
//     retried. The default of 5 s is too long for hosts with shorter intervals.
//   - The pages of a killed worker are retried at most 2 minutes after the
//     kill: their lease of 30 s must have been expired for 30 s, and each
//     worker checks for such leases every minute. asynq has no settings for
//     these times. The time that RetryDelayFunc returns for
//     asynq.ErrLeaseExpired is added.
//   - MaxWait, the flag -wait. asynq gives a page to any worker, often to one
//     that does not own the page's host, and with a MaxWait of -1 the page is
//     put back immediately. With 60 hosts of 20 pages and three workers, a
//     crawl that needs 61 s at least took 65 s and 2.2 deliveries a page at a
//     MaxWait of 5 s, 69 s and 2.5 at 3 s, 97 s and 4.4 at 1 s, and 219 s and
//     8.7 at -1. On the other hand, a page that waits occupies one of the
//     Concurrency tasks of its worker.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
)

const queue = "pages"

var (
	settings worker.Settings
	server   = flag.String("redis", "127.0.0.1:6379", "the server's `address`")
)

func main() {
	settings.Flags(false, 5*time.Second)
	settings.Main(put, work)
}

// connect returns a client for Redis.
func connect(ctx context.Context) (redis.UniversalClient, error) {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 []string{*server},
		ContextTimeoutEnabled: true,
	})
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("connect to Redis at %s: %w", *server, err)
	}
	return client, nil
}

// put adds pages to the queue.
func put(ctx context.Context, urls []string) error {
	client, err := connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	tasks := asynq.NewClientFromRedisClient(client)
	for _, url := range urls {
		// With the URL as its ID, a page cannot be in the queue twice.
		task := asynq.NewTask("page", []byte(url),
			asynq.Queue(queue),
			asynq.TaskID(url),
			asynq.Timeout(5*time.Minute),
			asynq.MaxRetry(math.MaxInt32))
		if _, err := tasks.EnqueueContext(ctx, task); err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
			return err
		}
	}
	return nil
}

// putBack is the error of a page that must be retried.
type putBack struct {
	again time.Time
	error
}

func (e putBack) Unwrap() error { return e.error }

// isFailure reports whether asynq counts an error as a failure of the task.
func isFailure(err error) bool {
	return errors.Is(err, worker.ErrFailed)
}

// retryDelay returns how long a task waits after an error.
func retryDelay(n int, err error, task *asynq.Task) time.Duration {
	if page, ok := errors.AsType[putBack](err); ok {
		return time.Until(page.again)
	}
	if errors.Is(err, asynq.ErrLeaseExpired) { // the worker of the task was killed
		return 0
	}
	return asynq.DefaultRetryDelayFunc(n, err, task)
}

// work fetches the pages of the queue until it is empty or ctx ends. It returns
// a summary.
func work(ctx context.Context) (fmt.Stringer, error) {
	client, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "queues"})
	if err != nil {
		return nil, err
	}
	defer fleet.Close()
	store, err := redisstore.New(client, "queues:")
	if err != nil {
		return nil, err
	}
	w, err := settings.Start(ctx, robotsmw.Options{Limiter: settings.Limiter(fleet), Store: store})
	if err != nil {
		return nil, err
	}
	tasks := asynq.NewServerFromRedisClient(client, asynq.Config{
		Queues:                   map[string]int{queue: 1},
		Concurrency:              settings.Concurrency,
		RetryDelayFunc:           retryDelay,
		IsFailure:                isFailure,
		TaskCheckInterval:        200 * time.Millisecond,
		DelayedTaskCheckInterval: 200 * time.Millisecond,
		ShutdownTimeout:          time.Minute,
		LogLevel:                 asynq.ErrorLevel,
	})
	if err := tasks.Start(handler(w)); err != nil {
		return nil, err
	}
	inspector := asynq.NewInspectorFromRedisClient(client)
	err = w.Follow(ctx, os.Stdout, func(context.Context) (int, error) {
		info, err := inspector.GetQueueInfo(queue)
		if err != nil {
			return 0, err
		}
		return info.Pending + info.Active + info.Scheduled + info.Retry, nil
	})
	tasks.Shutdown() // pages that have begun are fetched to their end
	return w, err
}

// handler returns the handler that fetches the page of a task.
func handler(w *worker.Worker) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		failures := func() (int, error) {
			n, ok := asynq.GetRetryCount(ctx)
			if !ok {
				return 0, errors.New("asynq provided no retry count")
			}
			return n, nil
		}
		again, err := w.Fetch(ctx, string(task.Payload()), failures, save)
		if err == nil {
			return nil
		}
		if !again.IsZero() {
			return putBack{again, err}
		}
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	})
}

// save is where the page is stored. This one only reads it.
func save(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}
