// River crawls the pages of a queue in River, which keeps it in PostgreSQL.
// Start a server (or name the database of one that runs), put URLs into the
// queue, and start the workers, each in a terminal of its own:
//
//	initdb -D pages -U postgres -A trust && postgres -D pages -k /tmp
//	export DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres
//	go run ./river put http://example.com/
//	go run ./river -part 0 work
//	go run ./river -part 1 work
//	go run ./river -part 2 work
//
// Debian has initdb and postgres in /usr/lib/postgresql/*/bin; they do not run
// as root. The command put creates the tables. The workers follow links and
// redirects within the hosts that you put.
//
// Flags, such as -postgres and -user-agent, precede put or work. Without
// arguments, put reads URLs from standard input.
//
// A worker ends when the whole queue is empty, not just its part. SIGTERM or
// Ctrl-C ends it earlier, and its pages are returned to the queue. (go run does
// not forward SIGTERM, so build the command for that.) A worker that was killed
// should be started again with the same part.
//
// A page whose server responds with 5xx is retried after a minute, then after
// 2, 4 and so on, up to an hour. After the eighth such response, two hours
// after the first, its job is canceled (flags -failures and -retry). A page
// without a response, or one that could not be stored, is retried after a
// minute, without a limit. The worker prints the reason.
//
// What to copy:
//
//   - From internal/worker/worker.go: New, whose client follows no redirect,
//     Fetch without its count, and the methods that Fetch calls; then in Work,
//     JobSnooze until the page's time, which does not count as an attempt, and
//     JobCancel for what robots.txt forbids and for a page that failed too
//     often.
//   - The number of 5xx in the output of the job, which River stores in the
//     job's row although the job is not complete. Its attempts would also count
//     killed workers.
//   - save: a page, the jobs for its links and the job's own completion are
//     stored in one transaction, so that no link is lost if the worker is
//     killed.
//   - A queue for each part, by [worker.Part]. All pages of a host are in one
//     queue, and one worker at a time serves it, so that the pace needs no
//     Redis. Do not start two workers for one part.
//   - The delay before the first request. A worker that was killed leaves no
//     record of its latest requests and of the pauses of its hosts. If that
//     matters, use package redislimit, as command asynq does.
//
// Settings that matter:
//
//   - FetchPollInterval determines how late a snoozed page is retried.
//   - RescueStuckJobsAfter, the flag -rescue, is the time after which the pages
//     of a killed worker are retried: by default, 5 minutes. It must be longer
//     than JobTimeout. One worker, the leader, checks every 30 s. If the leader
//     was killed, another worker becomes the leader within 21 s; snoozed pages
//     wait for it as well.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

var (
	settings worker.Settings
	database = flag.String("postgres", os.Getenv("DATABASE_URL"), "the database's `URL`")
	rescue   = flag.Duration("rescue",
		5*time.Minute, "how long after a worker was killed its pages are retried")
)

func main() {
	settings.Flags(true, time.Second)
	settings.Main(put, work)
}

// PageArgs is the job to fetch a page.
type PageArgs struct {
	URL string `json:"url"`
}

// Kind returns the name of the job's kind.
func (PageArgs) Kind() string { return "page" }

// part returns the name of the queue of a part.
func part(n int) string { return fmt.Sprintf("pages_%d", n) }

// enqueue adds those of the URLs that were never seen to the table of pages,
// and a job for each, in the queue of its host's part. River's unique jobs
// could replace the table, but inserting such a job again locks it. River's
// scheduler locks jobs in another order, and PostgreSQL would end one of the
// two transactions because of the deadlock.
func enqueue(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, urls []string) error {
	const insert = "INSERT INTO page (url) SELECT DISTINCT unnest($1::text[]) ORDER BY 1 " +
		"ON CONFLICT (url) DO NOTHING RETURNING url"
	rows, err := tx.Query(ctx, insert, urls)
	if err != nil {
		return err
	}
	fresh, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(fresh) == 0 {
		return err
	}
	var jobs []river.InsertManyParams
	for _, page := range fresh {
		n, err := worker.Part(page, settings.Workers)
		if err != nil {
			return err
		}
		jobs = append(jobs, river.InsertManyParams{
			Args:       PageArgs{page},
			InsertOpts: &river.InsertOpts{Queue: part(n)},
		})
	}
	_, err = client.InsertManyTx(ctx, tx, jobs)
	return err
}

// put creates the tables and adds pages to the queue.
func put(ctx context.Context, urls []string) error {
	pool, err := pgxpool.New(ctx, *database)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	const create = "CREATE TABLE IF NOT EXISTS page " +
		"(url text PRIMARY KEY, status int, links int, fetched timestamptz)"
	if _, err := pool.Exec(ctx, create); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return enqueue(ctx, client, tx, urls) })
}

// work fetches the pages of a part of the queue until the queue is empty or ctx
// ends. It returns a summary.
func work(ctx context.Context) (fmt.Stringer, error) {
	pool, err := pgxpool.New(ctx, *database)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	w, err := settings.Start(ctx, robotsmw.Options{Limiter: settings.Limiter(nil)})
	if err != nil {
		return nil, err
	}
	pages := river.NewWorkers()
	river.AddWorker(pages, &pageWorker{worker: w, pool: pool})
	queue := river.QueueConfig{MaxWorkers: settings.Concurrency}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:               map[string]river.QueueConfig{part(settings.Part): queue},
		Workers:              pages,
		FetchPollInterval:    200 * time.Millisecond,
		JobTimeout:           min(*rescue, time.Minute),
		RescueStuckJobsAfter: *rescue,
		Logger:               slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	err = w.Follow(ctx, os.Stdout, func(ctx context.Context) (left int, err error) {
		const count = "SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')"
		err = pool.QueryRow(ctx, count).Scan(&left)
		return left, err
	})
	return w, errors.Join(err, client.Stop(context.Background())) // pages that have begun are fetched to their end
}

// A pageWorker fetches the pages of jobs.
type pageWorker struct {
	river.WorkerDefaults[PageArgs]
	worker *worker.Worker
	pool   *pgxpool.Pool
}

// Work fetches the page of a job.
func (p *pageWorker) Work(ctx context.Context, job *river.Job[PageArgs]) error {
	number := 0
	failures := func() (n int, err error) {
		if output := job.Output(); output != nil {
			err = json.Unmarshal(output, &number)
		}
		return number, err
	}
	again, err := p.worker.Fetch(ctx, job.Args.URL, failures, func(resp *http.Response) error {
		return p.save(ctx, job, resp)
	})
	if errors.Is(err, worker.ErrFailed) {
		if err := river.RecordOutput(ctx, number+1); err != nil {
			return err
		}
	}
	if err == nil {
		return nil
	}
	if !again.IsZero() {
		return river.JobSnooze(max(time.Until(again), 0))
	}
	return river.JobCancel(err)
}

// save stores the page and the jobs for its links, and completes its job, in
// one transaction.
func (p *pageWorker) save(ctx context.Context, job *river.Job[PageArgs], resp *http.Response) error {
	links, err := readLinks(ctx, resp)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		// The links are inserted before the page is updated. To insert a link
		// that is a page being updated, a transaction waits for the update. If
		// pages were updated first, two pages that link to each other would
		// cause a deadlock.
		if err := enqueue(ctx, river.ClientFromContext[pgx.Tx](ctx), tx, links); err != nil {
			return err
		}
		const update = "UPDATE page SET status = $2, links = $3, fetched = now() WHERE url = $1"
		if _, err := tx.Exec(ctx, update, job.Args.URL, resp.StatusCode, len(links)); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// readLinks returns the pages of the same host that the response leads to: the
// target of a redirect, or the links that may be followed.
func readLinks(ctx context.Context, resp *http.Response) (urls []string, err error) {
	found, err := targets(ctx, resp)
	for _, u := range found {
		if u.Host == resp.Request.URL.Host {
			urls = append(urls, u.String())
		}
	}
	return urls, err
}

// targets returns the URLs that the response leads to, without fragments.
func targets(ctx context.Context, resp *http.Response) ([]*url.URL, error) {
	if target, err := resp.Location(); err == nil {
		target.Fragment = ""
		return []*url.URL{target}, nil
	}
	page, err := pagelinks.Read(ctx, resp, nil)
	if err != nil {
		return nil, err
	}
	return page.Queue(), nil
}
