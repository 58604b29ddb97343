// River crawls the pages of a queue in River, which keeps it in PostgreSQL.
// Name a database, put URLs into the queue, and start the workers, each in a
// terminal of its own:
//
//	export DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres
//	go run ./river put http://example.com/
//	go run ./river -part 0 work
//	go run ./river -part 1 work
//	go run ./river -part 2 work
//
// The first command makes the tables. The workers follow links and redirects
// within the hosts that you put. A worker ends when the queue is empty. SIGTERM
// ends it sooner: its pages go back. A worker that was killed is started again
// with the same part.
//
// What to copy:
//
//   - [worker.Worker.Fetch] and its place, whole; then, in Work, JobSnooze
//     until the page's time, which counts as no attempt, and JobCancel for
//     what robots.txt forbids.
//   - save: a page, the jobs for its links and the job's own completion are
//     stored in one transaction. So a worker that is killed leaves all or
//     nothing, and no link is lost. PostgreSQL may end such a transaction
//     because of a deadlock. Without the next try, the page would be fetched
//     again.
//   - A queue for each part, by [worker.Part]. All pages of a host are in one
//     queue, and one worker at a time serves it, so that the pace needs no
//     Redis. Do not start two workers for one part.
//   - FetchPollInterval decides how late a snoozed page comes back, and
//     RescueStuckJobsAfter when the pages of a killed worker do. The rescuer
//     looks every 30 s. It must be longer than JobTimeout.
//   - The rest before the first request. A worker that was killed has left no
//     word of when it asked its hosts, or of how long they asked it to stay
//     away. Where that matters, use package redislimit, as command asynq does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/goodbots/courtesy/examples/queues/internal/worker"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
)

var (
	settings worker.Settings
	database = flag.String("postgres", os.Getenv("DATABASE_URL"), "the database's `URL`")
	rescue   = flag.Duration("rescue", 5*time.Minute, "when the pages of a killed worker come again")
)

func main() {
	settings.Flags(true, time.Second)
	worker.Main(put, work)
}

// PageArgs is the job to fetch a page.
type PageArgs struct {
	URL string `json:"url" river:"unique"`
}

// ever has the states of all jobs, also of those that were dropped.
var ever = append(rivertype.UniqueOptsByStateDefault(), rivertype.JobStateCancelled, rivertype.JobStateDiscarded)

// Kind returns the name of the job's kind.
func (PageArgs) Kind() string { return "page" }

func part(n int) string { return fmt.Sprintf("pages_%d", n) }

// jobs returns jobs for the URLs, each in the queue of its host's part. A page
// that has a job already gets no second one.
func jobs(urls []string) (params []river.InsertManyParams, err error) {
	for _, page := range urls {
		n, err := worker.Part(page, settings.Workers)
		if err != nil {
			return nil, err
		}
		params = append(params, river.InsertManyParams{Args: PageArgs{page}, InsertOpts: &river.InsertOpts{
			Queue: part(n), UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: ever},
		}})
	}
	return params, nil
}

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
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS page (url text PRIMARY KEY, status int, links int, fetched timestamptz DEFAULT now())"); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		return err
	}
	params, err := jobs(urls)
	if err != nil || len(params) == 0 {
		return err
	}
	_, err = client.InsertMany(ctx, params)
	return err
}

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
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{part(settings.Part): {MaxWorkers: settings.AtOnce}},
		Workers: pages, FetchPollInterval: 200 * time.Millisecond,
		JobTimeout: min(*rescue, time.Minute), RescueStuckJobsAfter: *rescue,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	err = w.Follow(ctx, os.Stdout, func(ctx context.Context) (n int, err error) {
		err = pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')").Scan(&n)
		return n, err
	})
	return w, errors.Join(err, client.Stop(context.Background())) // pages that have begun are fetched to their end
}

type pageWorker struct {
	river.WorkerDefaults[PageArgs]
	worker *worker.Worker
	pool   *pgxpool.Pool
}

// Work fetches the page of a job.
func (p *pageWorker) Work(ctx context.Context, job *river.Job[PageArgs]) error {
	again, err := p.worker.Fetch(ctx, job.Args.URL, func(resp *http.Response) error {
		return p.save(ctx, job, resp)
	})
	switch {
	case err == nil:
		return nil
	case !again.IsZero():
		return river.JobSnooze(max(time.Until(again), 0))
	}
	fmt.Println(err)
	return river.JobCancel(err)
}

// save stores the page and the jobs for its links, and completes its job, all
// or nothing.
func (p *pageWorker) save(ctx context.Context, job *river.Job[PageArgs], resp *http.Response) error {
	links, err := linksOf(ctx, resp)
	if err != nil {
		return err
	}
	more, err := jobs(links)
	if err != nil {
		return err
	}
	store := func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO page (url, status, links) VALUES ($1, $2, $3) ON CONFLICT (url) DO NOTHING", job.Args.URL, resp.StatusCode, len(links)); err != nil {
			return err
		}
		if len(more) > 0 {
			if _, err := river.ClientFromContext[pgx.Tx](ctx).InsertManyTx(ctx, tx, more); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	}
	for tries := 0; ; tries++ {
		err := pgx.BeginFunc(ctx, p.pool, store)
		if ended, ok := errors.AsType[*pgconn.PgError](err); !ok || ended.Code != deadlock || tries == 5 {
			return err
		}
	}
}

// deadlock is PostgreSQL's code for a transaction that it has ended because two
// waited for each other. The one in save locks the jobs of all links, and so
// does River when it moves jobs, in another order.
const deadlock = "40P01"

// linksOf returns the pages of the same host that the response leads to: the
// target of a redirect, or the links that may be followed.
func linksOf(ctx context.Context, resp *http.Response) (urls []string, err error) {
	var found []*url.URL
	if target, err := resp.Location(); err == nil {
		found = append(found, target)
	} else {
		page, err := pagelinks.Read(ctx, resp, nil)
		if err != nil {
			return nil, err
		}
		found = page.Queue()
	}
	for _, u := range found {
		if u.Host == resp.Request.URL.Host {
			u.Fragment = ""
			urls = append(urls, u.String())
		}
	}
	return urls, nil
}
