package tool

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A Job contains what a Crawler crawls, and with which settings. The exported
// fields are read-only. A Job is safe for concurrent use.
type Job struct {
	Settings

	// The Crawler must set these fields of robotsmw.Options and
	// politeness.Limiter, of which PaceObserver is the Observer.
	Base         http.RoundTripper
	Observer     *robotsmw.Observer
	PaceObserver *politeness.Observer
	Fleet        politeness.Fleet                          // shares the pace with other processes; nil if there are none
	Wrap         func(http.RoundTripper) http.RoundTripper // requests only pages that may have changed
	Store        robotsmw.Store                            // keeps robots.txt records; nil means in memory only
	Logger       *slog.Logger

	// Card, if not nil, prints the crawler's card. The Crawler must call it
	// instead of crawling.
	Card func(robotsmw.Options) error

	opts     *options
	frontier keep.Queue
	seeded   sync.Map // keys: URLs of robots.txt files whose sitemaps are queued
	recorder *requestRecorder
	revisits *revisits
	health   health
	proof    *proof // nil without -evidence
	ledger   *output.Ledger
	fail     func(error)                      // ends the crawl
	printf   func(format string, args ...any) // prints a message for the user

	once         sync.Once
	stopProgress func()
}

// observe sets the RoundTrippers, observers and stores of the Crawler, and the
// frontier from which it takes pages.
func (j *Job) observe(base http.RoundTripper, kept *keep.Kept) {
	w := &requestRecorder{
		base:     base,
		interval: max(j.Delay, 0),
		ledger:   j.ledger,
		files:    make(map[string][]record.Request),
	}
	j.Base = w
	j.recorder = w
	j.Observer = &robotsmw.Observer{Decided: w.decided, Asked: w.robotsResponse, Fetched: w.fetched}
	j.PaceObserver = &politeness.Observer{BackedOff: w.backedOff}
	j.Wrap = j.revisits.wrap
	j.Fleet = kept.Fleet
	j.Store = kept.Store
	j.frontier = kept.Queue
	j.stopProgress = func() {}
}

// Record sets observers in opts that write the evidence record. It does nothing
// without -evidence.
func (j *Job) Record(opts *robotsmw.Options) error {
	if j.proof == nil {
		return nil
	}
	return j.proof.Observe(opts)
}

var (
	errMaxTime = errors.New("-max-time has passed")
	errFailed  = errors.New("the crawl has failed")
)

// finish prints and returns the summary. Call it when the Crawler has returned.
func (j *Job) finish(ctx context.Context) record.Summary {
	j.stopProgress()
	state := j.frontier.State()
	ended := j.frontier.Ended()
	return j.ledger.Finish(j.stopReason(ctx, state, ended), state, ended)
}

// stopReason returns why the crawl stopped early, as in record.Summary.Stopped.
// The values of ended are the numbers of queued pages of hosts whose crawl has
// ended.
func (j *Job) stopReason(ctx context.Context, state frontier.State, ended map[string]int) string {
	queuedOfEnded := 0
	for _, pages := range ended {
		queuedOfEnded += pages
	}
	switch {
	case j.failure(ctx) != nil:
		return "failed"
	case errors.Is(context.Cause(ctx), errMaxTime):
		return "max-time"
	case ctx.Err() != nil:
		return "interrupted"
	case state.Queued > queuedOfEnded:
		return "max-pages"
	case queuedOfEnded > 0:
		return "max-refused"
	}
	return ""
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
