// Politespider crawls websites as their robots.txt asks: the example of a polite crawler built from colly and Courtesy.
//
//	politespider                      crawl a demo internet on loopback
//	politespider [flags] URL...       crawl these sites
//
// It obeys every robots.txt it meets, paces its requests to each host, does as noindex and nofollow say, and comes back
// when a server asks for time. Each URL that it finds is accounted for: fetched, blocked by a rule (and which), or lost
// (and why). It follows links within the hosts of the URLs it was given; -scope makes that wider or narrower, -depth ends
// it sooner, and -sitemaps begins with what the sites list themselves.
//
// Of each page it says what the page and its robots.txt ask for, and where they do: directives such as noindex, and
// whether the owner agrees to search, to the training of AI, and to its use as input to AI. That changes nothing about
// fetching. What is marked as a draft is read by a document that may still change; the summary names it.
//
// # The report
//
// With -report FILE what a run came to is written as one HTML file, to be opened in a browser without a network: for each
// host the start of every request against the interval in force, and the pauses after a 429 or 503; what was blocked by
// which line of which robots.txt; what pages say, what was lost, which hosts are slow. It is written after Ctrl-C, too.
// Meanwhile the spider keeps up to a million requests and refusals in memory, some 100 octets each, and counts the rest.
//
// # Stopping and going on
//
// With -resume DIR the state of the crawl is kept in a directory: whatever stops the spider, kill -9 included, the same
// command goes on where it was, and so does politespider -resume DIR. No page is lost, and none fetched twice but those
// that were under way. With -redis URL it is kept in Redis or Valkey, and any number of processes take part in one crawl,
// on one machine or many, started by the same command; robots.txt is fetched, and the pace of a host kept, as if they
// were one. What one of them was at that died, the others take over.
//
// The exit status is 0 if the crawl ran to its end, or to -max-pages or -max-time; 1 if not a single page could be fetched,
// or if something could not be kept, be it the output, the state of the crawl or a page; 2 if it was called wrongly; and
// 130 if it was interrupted: by Ctrl-C or SIGTERM, after which it still prints its summary, and how to go on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/goodbots/courtesy/examples/internal/terminal"
	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// The demo's crawler: its robots.txt files know it by name.
const demoAgent = "ExampleBot/1.0 (+https://example.com/bot)"

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell reports a program that SIGINT ended
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it the hard way
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command: everything but the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("politespider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	o.define(flags)
	flags.Usage = func() { usage(stderr, flags) }
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	fail := func(status int, format string, args ...any) int {
		fmt.Fprintf(stderr, "politespider: "+format+"\n", args...)
		return status
	}
	urls, err := o.keep.recall(flags)
	if err != nil {
		return fail(exitUsage, "%v", err)
	}
	about := aboutFlags(flags) // before no limit is put into other terms
	if err := o.check(); err != nil {
		return fail(exitUsage, "%v", err)
	}
	cfg := &o.config
	cfg.logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if len(urls) == 0 {
		if o.proxy != "" {
			return fail(exitUsage, "-proxy: the demo is on this machine: give the URLs to crawl")
		}
		site, err := demosite.Start()
		if err != nil {
			return fail(exitFailed, "%v", err)
		}
		defer site.Close()
		transport := &http.Transport{DialContext: site.DialContext}
		defer transport.CloseIdleConnections()
		if err := cfg.demo(site); err != nil {
			return fail(exitFailed, "%v", err)
		}
		cfg.base = transport
	} else {
		if cfg.userAgent == "" {
			return fail(exitUsage, "say who is crawling: -user-agent \"YourBot/1.0 (+https://example.com/about-your-bot)\"")
		}
		if err := cfg.sites(urls, o.scope); err != nil {
			return fail(exitUsage, "%v", err)
		}
		for _, u := range cfg.start {
			about.Start = append(about.Start, u.String())
		}
		about.Scope = string(o.scope)
		if o.proxy != "" {
			transport, err := through(o.proxy)
			if err != nil {
				return fail(exitUsage, "%v", err)
			}
			defer transport.CloseIdleConnections()
			cfg.base = transport
		}
	}
	cfg.pages = &o.pages
	if err := cfg.pages.open(); err != nil {
		return fail(exitFailed, "%v", err)
	}
	defer cfg.pages.close()
	kept, err := o.keep.open(ctx, *cfg, about)
	if err != nil {
		return fail(exitFailed, "%v", err)
	}
	defer kept.close()
	if o.store != "" {
		if kept.store, err = diskstore.Open(o.store); err != nil {
			return fail(exitFailed, "-store: %v", err)
		}
	}
	return crawl(ctx, *cfg, kept, o.json, stdout, stderr)
}

// crawl runs a crawl and returns the exit status.
func crawl(ctx context.Context, cfg config, kept *kept, asJSON bool, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.maxTime > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, cfg.maxTime, errMaxTime)
		defer stop()
	}
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "politespider: "+format+"\n", args...) }
	out := &checkedWriter{w: stdout, failed: cancel} // a crawl that cannot report need not go on
	p := newPrinter(out, terminal.Is(stdout), asJSON)
	cfg.store, cfg.pace = kept.store, kept.pace
	l := newLedger(p, max(cfg.delay, 0))
	if cfg.report != "" {
		l.report = report.New(cfg.what, cfg.userAgent, l.start, max(cfg.delay, 0))
	}
	s, err := newSpider(cfg, kept, l)
	if err != nil {
		say("%v", errors.Join(err, kept.Close()))
		return exitUsage
	}
	s.fail = cancel
	p.begin(cfg.what, cfg.userAgent)
	summary := s.crawl(ctx)
	failed := s.failure(ctx)
	if err := kept.Close(); failed == nil {
		failed = err
	}
	if err := writeReport(cfg.report, l.report, summary); err == nil && cfg.report != "" {
		say("the report is in %s", cfg.report)
	} else if failed == nil {
		failed = err
	}
	stopped := summary.Stopped != "" || out.err != nil
	switch {
	case summary.Stopped == "max-pages" && kept.goOn != "":
		say("%s, and a larger -max-pages", kept.goOn)
	case stopped && kept.goOn != "":
		say("%s", kept.goOn)
	case !stopped && summary.Fetched == 0 && summary.Elsewhere > 0:
		say("%s", kept.complete)
	}
	switch {
	case out.err != nil:
		say("write the output: %v", out.err)
		return exitFailed
	case failed != nil:
		say("%v", failed)
		return exitFailed
	case summary.Stopped == "interrupted":
		return exitInterrupted
	case summary.Fetched+summary.Elsewhere == 0:
		return exitFailed
	}
	return exitOK
}

// demo makes it a crawl of the whole demo.
func (c *config) demo(site *demosite.Site) error {
	if c.userAgent == "" {
		c.userAgent = demoAgent
	}
	front, err := normalize(site.Front())
	if err != nil {
		return err
	}
	if c.policyTokens == nil {
		c.policyTokens = map[preference.Use][]string{preference.TrainAI: {"Google-Extended"}}
	}
	c.what = "a demo internet on loopback"
	c.start = []*url.URL{front}
	c.inScope = func(*url.URL) bool { return true }
	return nil
}

// sites makes it a crawl of these URLs, and of what is in their scope.
func (c *config) sites(rawURLs []string, within scope) error {
	for _, raw := range rawURLs {
		u, err := normalize(raw)
		if err != nil {
			return err
		}
		c.what = strings.TrimPrefix(c.what+", "+u.String(), ", ")
		c.start = append(c.start, u)
	}
	c.inScope = within.of(c.start)
	return nil
}
