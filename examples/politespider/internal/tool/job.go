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

// A Job tells a Crawler what to crawl, and with which settings. The exported
// fields are read-only. A Job is safe for concurrent use.
type Job struct {
	UserAgent string
	Workers   int               // how many hosts to crawl at a time
	Delay     time.Duration     // least time between requests to a host; negative means none
	FromEnd   bool              // whether an interval begins at the end of a request
	Adaptive  float64           // see politeness.Limiter.Adaptive; 0 means off
	Budget    politeness.Budget // the budget of each host for a day

	Base         http.RoundTripper
	Observer     *robotsmw.Observer                        // the Crawler must set it as robotsmw.Options.Observer
	PaceObserver *politeness.Observer                      // the Crawler must set it as politeness.Limiter.Observer
	Fleet        politeness.Fleet                          // shares the hosts' pace with other processes; nil if there are none
	Outer        func(http.RoundTripper) http.RoundTripper // asks only for what may have changed; nil means nothing is remembered
	Store        robotsmw.Store                            // keeps robots.txt records; nil means in memory only
	Logger       *slog.Logger

	Card bool // if true, the Crawler must call PrintCard instead of crawling

	opts      *options
	frontier  keep.Queue
	discovery discovery
	witness   *witness.Witness
	revisits  *revisits
	health    health
	proof     *proof.Record
	ledger    *output.Ledger
	stdout    io.Writer
	fail      func(error)                      // ends the crawl
	say       func(format string, args ...any) // tells the user something

	once         sync.Once
	stopProgress func()
}

func newJob(o *options, base http.RoundTripper, kept *keep.Kept, recorded *proof.Record, remembered *revisits, ledger *output.Ledger, logger *slog.Logger, fail func(error), say func(string, ...any)) *Job {
	w := witness.New(base, max(o.delay, 0), ledger)
	return &Job{
		UserAgent: o.userAgent,
		Workers:   o.hosts,
		Delay:     o.delay,
		FromEnd:   o.fromEnd,
		Adaptive:  o.adaptive,
		Budget:    o.dailyBudget(),

		Base:         w,
		Observer:     &robotsmw.Observer{Decided: w.Decided, Fetched: w.Fetched},
		PaceObserver: &politeness.Observer{BackedOff: w.BackedOff},
		Fleet:        kept.Fleet,
		Store:        kept.Store,
		Outer:        remembered.outer(),
		Logger:       logger,

		opts:         o,
		frontier:     kept.Queue,
		discovery:    discovery{frontier: kept.Queue, inScope: o.inScope, maxDepth: o.maxDepth, sitemaps: o.sitemaps},
		witness:      w,
		proof:        recorded,
		revisits:     remembered,
		ledger:       ledger,
		fail:         fail,
		say:          say,
		stopProgress: func() {},
	}
}

// newCard returns a job that crawls nothing and only prints the card.
func newCard(o *options, stdout io.Writer) *Job {
	return &Job{
		UserAgent: o.userAgent,
		Workers:   o.hosts,
		Delay:     o.delay,
		FromEnd:   o.fromEnd,
		Adaptive:  o.adaptive,
		Budget:    o.dailyBudget(),
		Card:      true,
		opts:      o,
		stdout:    stdout,
	}
}

// PrintCard prints the card: who would crawl with these Options, and how.
func (j *Job) PrintCard(opts robotsmw.Options) error {
	return card.Write(j.stdout, opts, card.More{URL: j.opts.card.URL, KeysURL: j.opts.signing.KeysURL(), Purpose: j.opts.purpose()})
}

// Record sets observers in opts. The observers write the evidence record.
// Record does nothing without -evidence.
func (j *Job) Record(opts *robotsmw.Options) error { return j.proof.Observe(opts) }

// begin starts the output and queues the start URLs. Visits calls it once,
// before the first page is handed out.
func (j *Job) begin() {
	j.ledger.Begin()
	j.discovery.start(j.opts.start)
	if s := j.frontier.State(); j.opts.shared != nil && s.Spent+s.Free+s.Out > 0 {
		j.say("this process joins a crawl with %s done, %d queued and %s busy; it begins as soon as a host is free",
			record.Count(s.Spent+s.Free, "URL"), s.Queued, record.Count(s.Out, "host"))
	}
	j.stopProgress = j.ledger.ShowProgress(j.frontier.State)
}

var (
	errMaxTime = errors.New("-max-time is over")
	errFailed  = errors.New("the crawl has failed")
)

// finish prints and returns the summary. Call it when the Crawler has returned.
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

// failure returns the error that ended the crawl. It returns nil if the crawl
// ran to its end or was stopped.
func (j *Job) failure(ctx context.Context) error {
	if err := j.frontier.State().Err; err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, errFailed) {
		return err
	}
	return nil
}
