package tool

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/card"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/proof"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/witness"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Job is what a Crawler has to do, and with what. The exported fields are to be
// read. It is safe for concurrent use.
type Job struct {
	UserAgent string
	Workers   int               // how many hosts are to be crawled at a time
	Delay     time.Duration     // between requests to a host; negative: none
	Adaptive  float64           // see politeness.Adaptive; 0: off
	Budget    politeness.Budget // of a host and a day

	Base         http.RoundTripper    // sends what the crawl sends
	Observer     *robotsmw.Observer   // to be told what robots.txt says
	PaceObserver *politeness.Observer // to be told what the Limiter does
	Fleet        politeness.Fleet     // keeps one pace with other processes; nil: there are none
	Store        robotsmw.Store       // of robots.txt records; nil: memory alone
	Logger       *slog.Logger

	Card bool // the job is to call PrintCard, and no more

	opts      *options
	frontier  keep.Queue
	discovery discovery
	witness   *witness.Witness
	health    health
	proof     *proof.Record
	ledger    *output.Ledger
	stdout    io.Writer   // of PrintCard
	fail      func(error) // ends the crawl

	once         sync.Once
	stopProgress func()
}

func newJob(o *options, base http.RoundTripper, kept *keep.Kept, recorded *proof.Record, ledger *output.Ledger, logger *slog.Logger, fail func(error)) *Job {
	w := witness.New(base, max(o.delay, 0), ledger)
	return &Job{
		UserAgent: o.userAgent,
		Workers:   o.hosts,
		Delay:     o.delay,
		Adaptive:  o.adaptive,
		Budget:    o.dailyBudget(),

		Base:         w,
		Observer:     &robotsmw.Observer{Decided: w.Decided, Fetched: w.Fetched},
		PaceObserver: &politeness.Observer{BackedOff: w.BackedOff},
		Fleet:        kept.Fleet,
		Store:        kept.Store,
		Logger:       logger,

		opts:         o,
		frontier:     kept.Queue,
		discovery:    discovery{frontier: kept.Queue, inScope: o.inScope, maxDepth: o.maxDepth, sitemaps: o.sitemaps},
		witness:      w,
		proof:        recorded,
		ledger:       ledger,
		fail:         fail,
		stopProgress: func() {},
	}
}

// newCard is a job that says who would crawl.
func newCard(o *options, stdout io.Writer) *Job {
	return &Job{
		UserAgent: o.userAgent,
		Workers:   o.hosts,
		Delay:     o.delay,
		Adaptive:  o.adaptive,
		Budget:    o.dailyBudget(),
		Card:      true,
		opts:      o,
		stdout:    stdout,
	}
}

// PrintCard says who would crawl with these Options, and how.
func (j *Job) PrintCard(opts robotsmw.Options) error {
	return card.Write(j.stdout, opts, card.More{URL: j.opts.card.URL, KeysURL: j.opts.signing.KeysURL(), Purpose: j.opts.purpose()})
}

// Record has what is made of the Options recorded, as -evidence asks for.
func (j *Job) Record(opts *robotsmw.Options) error { return j.proof.Observe(opts) }

// begin is called once, before the first page is handed out.
func (j *Job) begin() {
	j.ledger.Begin()
	j.discovery.start(j.opts.start)
	j.stopProgress = j.ledger.ShowProgress(j.frontier.State)
}

var (
	errMaxTime = errors.New("-max-time is over")
	errFailed  = errors.New("the crawl has failed")
)

// finish is called when the Crawler has returned. It prints and returns the
// summary.
func (j *Job) finish(ctx context.Context) record.Summary {
	j.stopProgress()
	state := j.frontier.State()
	stopped := ""
	switch {
	case j.failure(ctx) != nil:
		stopped = "failed"
	case errors.Is(context.Cause(ctx), errMaxTime):
		stopped = "max-time"
	case ctx.Err() != nil:
		stopped = "interrupted"
	case state.Queued > 0:
		stopped = "max-pages"
	}
	return j.ledger.Finish(stopped, state)
}

// failure is why the crawl could not go on, though nobody stopped it.
func (j *Job) failure(ctx context.Context) error {
	if err := j.frontier.State().Err; err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, errFailed) {
		return err
	}
	return nil
}
