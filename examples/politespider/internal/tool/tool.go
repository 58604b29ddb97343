// Package tool implements the command around a crawl: its flags, the state that
// it keeps, its output, and its exit status. The crawl itself is a [Crawler],
// which takes pages from a [Job] and fetches them.
package tool

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/robotsmw"
)

// A Crawler fetches the pages of a job until none is left or ctx ends. It
// returns an error only if it cannot begin. It reports every other error to the
// job.
type Crawler func(ctx context.Context, job *Job) error

// These are the exit statuses of the command.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitRefused     = 3   // the crawl of a host has ended at -max-refused
	ExitInterrupted = 130 // as shells report for a program that SIGINT has ended
)

// A Command contains the inputs of a run: the Crawler, the arguments, the
// network and the outputs.
type Command struct {
	Crawl          Crawler
	Shared         Sharing           // nil means that the crawl has one process and a flag -resume
	Args           []string          // the arguments, without the command's name
	Base           http.RoundTripper // sends the requests; nil means a transport to the network or the demo
	Stdout, Stderr io.Writer
}

// Main runs the command with the arguments and outputs of the process, and
// exits.
func (c Command) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first Ctrl-C, a second one kills the process
	c.Args = os.Args[1:]
	c.Stdout = os.Stdout
	c.Stderr = os.Stderr
	os.Exit(c.Run(ctx))
}

// Run runs the command until it is done or ctx ends, and returns the exit
// status.
func (c Command) Run(ctx context.Context) int {
	status, err := c.run(ctx)
	if err != nil {
		c.printf("%v", err)
	}
	return status
}

// printf prints a message for the user on standard error.
func (c Command) printf(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "politespider: "+format+"\n", args...)
}

// run is Run for a caller that prints the error.
func (c Command) run(ctx context.Context) (status int, err error) {
	name := "politespider"
	if c.Shared != nil {
		name = "fleet"
	}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	logger := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := options{shared: c.Shared, keep: keep.Options{Logger: logger}}
	o.define(flags)
	version := flags.Bool("version", false, "print the version of the program, and do not crawl")
	args, err := cli.Parse(flags, c.Args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(c.Stdout, flags)
		return ExitOK, nil
	case err != nil:
		return ExitUsage, fmt.Errorf("%w (%s -h lists the flags)", err, name)
	case *version:
		fmt.Fprintln(c.Stdout, name+" "+cli.Version())
		return ExitOK, nil
	}
	if err := o.finish(flags, args); err != nil {
		return ExitUsage, err
	}
	if o.card != nil {
		return c.printCard(ctx, &o)
	}
	return c.crawl(ctx, &o)
}

// printCard prints the crawler's Signature Agent Card and does not crawl.
func (c Command) printCard(ctx context.Context, o *options) (status int, err error) {
	o.card.JWKSURI = o.signing.keysURL()
	o.card.WebBotAuth.Purpose = o.purpose()
	write := func(opts robotsmw.Options) error { return o.card.write(c.Stdout, opts) }
	if err := c.Crawl(ctx, &Job{Settings: o.Settings, Card: write}); err != nil {
		return ExitUsage, err
	}
	return ExitOK, nil
}

// purpose describes what is done with the pages.
func (o *options) purpose() string {
	if o.pages.Dir == "" {
		return "pages are read for links and directives, and not kept"
	}
	if o.pages.All {
		return "a copy of each page is kept"
	}
	return "a copy of each page is kept, except pages with noindex or noarchive"
}

// crawl opens what a run needs, runs the crawl, and prints its outcome.
func (c Command) crawl(ctx context.Context, o *options) (status int, err error) {
	base, disconnect, err := o.network(c.Base)
	if err != nil {
		return ExitFailed, err
	}
	defer disconnect()
	if err := o.pages.Open(); err != nil {
		return ExitFailed, err
	}
	defer o.pages.Close()
	// The deadline is set before the crawl is opened, so that -max-time also
	// limits how long the crawl waits there.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, o.maxTime, errMaxTime)
	defer stop()
	job := &Job{Settings: o.Settings, Logger: o.keep.Logger, opts: o, fail: cancel, printf: c.printf}
	kept, err := o.open(ctx)
	if err != nil {
		return ExitFailed, err
	}
	defer kept.Disconnect()
	if job.proof, err = openProof(o.evidence, o.keep.Logger, c.printf); err != nil {
		return ExitFailed, err
	}
	if job.proof != nil {
		defer job.proof.Close() // closes the evidence record even if the crawl does not begin
	}
	if job.revisits, err = openRevisits(o.revisit, o.UserAgent, o.keep.Logger); err != nil {
		return ExitFailed, err
	}
	if job.ledger, err = c.newLedger(o, kept.History, cancel); err != nil {
		return ExitFailed, errors.Join(err, kept.Close())
	}
	if o.signing.keyFile != "" {
		o.signing.Base = base
		base = &o.signing.Transport
	}
	job.observe(base, kept)
	if err := c.Crawl(ctx, job); err != nil {
		return ExitUsage, errors.Join(err, kept.Close())
	}
	return c.outcome(ctx, job, kept)
}

// newLedger returns the Ledger of a run. At the first error in writing the
// output, the Ledger calls fail, which ends the crawl.
func (c Command) newLedger(o *options, history *keep.History, fail func(error)) (*output.Ledger, error) {
	o.output.UserAgent = o.UserAgent
	o.output.Interval = max(o.Delay, 0)
	o.output.History = history
	o.output.Failed = fail
	return output.New(c.Stdout, o.output)
}

// outcome prints the outcome of a crawl, and returns the exit status.
func (c Command) outcome(ctx context.Context, job *Job, kept *keep.Kept) (status int, err error) {
	summary := job.finish(ctx)
	err = cmp.Or(job.failure(ctx), kept.Close(), c.writeReport(job, summary))
	outputErr := job.ledger.Err()
	c.printNextStep(job, kept, summary)
	switch {
	case outputErr != nil:
		return ExitFailed, fmt.Errorf("write the output: %w", outputErr)
	case err != nil:
		return ExitFailed, err
	case summary.Stopped == "interrupted":
		return ExitInterrupted, nil
	case len(summary.Ended) > 0:
		return ExitRefused, nil
	case summary.Fetched+summary.Unchanged+summary.Elsewhere == 0:
		return ExitFailed, errors.New("no page was fetched")
	}
	return ExitOK, nil
}

// writeReport closes the evidence record and writes the report, if the flags
// request them.
func (c Command) writeReport(job *Job, summary record.Summary) error {
	path := job.opts.output.Report
	var proofs map[string]report.Proof
	var proofErr error
	if job.proof != nil {
		proofs, proofErr = job.proof.close(path)
		job.proof.printHead(c.printf)
	}
	if err := job.ledger.WriteReport(summary, proofs); err != nil {
		return cmp.Or(proofErr, err)
	}
	if path != "" {
		c.printf("the report is in %s", path)
	}
	return proofErr
}

// printNextStep prints how to continue a crawl that was stopped, or that a
// crawl is complete.
func (c Command) printNextStep(job *Job, kept *keep.Kept, summary record.Summary) {
	stopped := summary.Stopped != "" || job.ledger.Err() != nil
	switch {
	case stopped && kept.GoOn == "":
		return
	case summary.Stopped == "max-pages", summary.Stopped == "max-refused":
		c.printf("%s, with a larger -%s", kept.GoOn, summary.Stopped)
	case stopped:
		c.printf("%s", kept.GoOn)
	case job.ledger.Idle() && kept.Complete != "":
		c.printf("%s", kept.Complete)
	}
}
