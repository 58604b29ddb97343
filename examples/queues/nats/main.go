// Nats crawls the pages of a queue in NATS JetStream. Start a server, put URLs
// into the queue, and start the workers, each in a terminal of its own:
//
//	go run github.com/nats-io/nats-server/v2 -js
//	go run ./nats put http://example.com/ http://example.com/page
//	go run ./nats -part 0 work
//	go run ./nats -part 1 work
//	go run ./nats -part 2 work
//
// Flags, such as -nats and -user-agent, precede put or work. Without arguments,
// put reads URLs from standard input.
//
// A worker ends when the whole queue is empty, not just its part. SIGTERM or
// Ctrl-C ends it earlier, and its pages are returned to the queue. (go run does
// not forward SIGTERM, so build the command for that.) A worker that was killed
// should be started again with the same part. Redirects are not followed: in
// save, put resp.Location() into the queue.
//
// A page whose server responds with 5xx is retried after a minute, then after
// 2, 4 and so on, up to an hour. After the eighth such response, two hours
// after the first, the page is dropped (flags -failures and -retry). A page
// without a response, or one that could not be stored, is retried after a
// minute, without a limit. The worker prints the reason.
//
// What to copy:
//
//   - From internal/worker/worker.go: New, whose client follows no redirect,
//     Fetch without its count, and the methods that Fetch calls; then in
//     handle, the three acknowledgments: Ack, NakWithDelay until the page's
//     time, and Term for what robots.txt forbids and for a page that failed too
//     often.
//   - The bucket of failures. NATS counts deliveries, and a page is delivered
//     each time that it was put back, so the number of its 5xx responses must
//     be stored separately. Its key is the sequence number of the message.
//   - A subject for each part of the queue, by [worker.Part]. No Redis is
//     needed to keep the delay of a host, because all its pages are in one
//     part, and one worker at a time serves a part. Do not start two workers
//     for one part.
//   - The delay before the first request. A worker that was killed leaves no
//     record of its latest requests and of the pauses of its hosts. If that
//     matters, use package redislimit, as command asynq does.
//
// Settings that matter:
//
//   - save must be able to store a page again, because the server may deliver a
//     page twice: if the server is killed before it has stored that the page is
//     done, or if a worker is killed between the end of a fetch and its Ack.
//   - MaxAckPending must exceed the number of pages that are put back at a
//     time, because each of them counts until it is acknowledged. If it is 1, a
//     page that waits for its host delays all other hosts of its part.
//   - AckWait, the flag -ack-wait, is the time after which the pages of a
//     killed worker are retried: by default, a minute. It must be longer than a
//     page may take. MaxDeliver is -1, because each time that a page is put
//     back counts as a delivery.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
	"github.com/goodbots/courtesy/robotsmw"
)

var (
	settings worker.Settings
	server   = flag.String("nats", nats.DefaultURL, "the server's `URL`")
	ackWait  = flag.Duration("ack-wait",
		time.Minute, "how long after a worker was killed its pages are retried")
)

func main() {
	settings.Flags(true, time.Second)
	settings.Main(put, work)
}

// queue connects to the server, and creates the stream if there is none.
func queue(ctx context.Context) (*nats.Conn, jetstream.Stream, error) {
	conn, err := nats.Connect(*server, nats.MaxReconnects(-1))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to NATS at %s: %w", *server, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, nil, err
	}
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name:      "PAGES",
		Subjects:  []string{"pages.*"},
		Retention: jetstream.WorkQueuePolicy, // acknowledged messages are removed
	})
	return conn, stream, err
}

// put adds pages to the queue.
func put(ctx context.Context, urls []string) error {
	conn, _, err := queue(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	for _, url := range urls {
		part, err := worker.Part(url, settings.Workers)
		if err != nil {
			return err
		}
		// With an ID, a page that is put twice within two minutes is added
		// once.
		id := sha256.Sum256([]byte(url))
		withID := jetstream.WithMsgID(hex.EncodeToString(id[:]))
		if _, err := js.Publish(ctx, subject(part), []byte(url), withID); err != nil {
			return err
		}
	}
	return nil
}

// subject returns the subject of the pages of a part.
func subject(part int) string { return fmt.Sprintf("pages.%d", part) }

// work fetches the pages of a part of the queue until the queue is empty or ctx
// ends. It returns a summary.
func work(ctx context.Context) (fmt.Stringer, error) {
	conn, stream, err := queue(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	consumer, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       fmt.Sprintf("part-%d", settings.Part),
		FilterSubject: subject(settings.Part),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       *ackWait,
		MaxDeliver:    -1,
		MaxAckPending: 10_000,
	})
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	bucket, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: "FAILURES",
		TTL:    7 * 24 * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	w, err := settings.Start(ctx, robotsmw.Options{Limiter: settings.Limiter(nil)})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	workers.Go(func() { handOut(ctx, consumer, &workers, &handler{w, bucket}) })
	err = w.Follow(ctx, os.Stdout, func(ctx context.Context) (int, error) {
		info, err := stream.Info(ctx)
		if err != nil {
			return 0, err
		}
		return int(info.State.Msgs), nil
	})
	stop()
	workers.Wait()
	return w, errors.Join(err, conn.Flush()) // sends the acknowledgments
}

// handOut requests a page from the server whenever the worker can process one
// more, until ctx ends. It does not cancel these requests: if the server sent a
// page while its request was being canceled, no worker would fetch the page
// before its AckWait has passed.
func handOut(ctx context.Context, consumer jetstream.Consumer, workers *sync.WaitGroup, h *handler) {
	slots := make(chan struct{}, settings.Concurrency)
	for ctx.Err() == nil {
		slots <- struct{}{}
		msg, err := consumer.Next(jetstream.FetchMaxWait(time.Second))
		if err == nil {
			workers.Go(func() {
				h.handle(ctx, msg)
				<-slots
			})
			continue
		}
		<-slots
		if !errors.Is(err, nats.ErrTimeout) { // the server is unreachable
			time.Sleep(time.Second)
		}
	}
}

// A handler fetches the pages of messages.
type handler struct {
	worker   *worker.Worker
	failures jetstream.KeyValue // how many times the page of a message has failed
}

// handle fetches the page of a message and acknowledges the message. If ctx has
// ended, it returns the page to the queue. It does not cancel a fetch that has
// begun.
func (h *handler) handle(ctx context.Context, msg jetstream.Msg) {
	if ctx.Err() != nil {
		msg.Nak()
		return
	}
	ctx = context.WithoutCancel(ctx)
	number := 0
	failures := func() (n int, err error) {
		number, err = h.count(ctx, msg)
		return number, err
	}
	again, err := h.worker.Fetch(ctx, string(msg.Data()), failures, save)
	if errors.Is(err, worker.ErrFailed) && !again.IsZero() {
		if err := h.setCount(ctx, msg, number+1); err != nil {
			fmt.Println("could not count a failure:", err)
		}
	}
	switch {
	case err == nil:
		msg.Ack()
	case !again.IsZero():
		msg.NakWithDelay(max(time.Until(again), time.Millisecond))
	default:
		msg.TermWithReason(err.Error())
	}
}

// count returns how many times the page of a message has failed.
func (h *handler) count(ctx context.Context, msg jetstream.Msg) (int, error) {
	key, err := key(msg)
	if err != nil {
		return 0, err
	}
	entry, err := h.failures.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(entry.Value()))
}

// setCount stores how many times the page of a message has failed.
func (h *handler) setCount(ctx context.Context, msg jetstream.Msg, n int) error {
	key, err := key(msg)
	if err != nil {
		return err
	}
	_, err = h.failures.PutString(ctx, key, strconv.Itoa(n))
	return err
}

// key returns the key of a message in the bucket of failures. All deliveries of
// a message have the same sequence number and timestamp. A stream that was
// deleted and created again has the same numbers for other messages.
func key(msg jetstream.Msg) (string, error) {
	metadata, err := msg.Metadata()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d.%d", metadata.Sequence.Stream, metadata.Timestamp.UnixNano()), nil
}

// save is where the page is stored. This one only reads it.
func save(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}
