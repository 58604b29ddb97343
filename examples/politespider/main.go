// Politespider crawls websites as their robots.txt asks: the example of a polite crawler built from colly and Courtesy.
//
//	politespider                      crawl a demo internet on loopback
//	politespider [flags] URL...       crawl these sites
//
// It obeys every robots.txt it meets, paces its requests to each host, does as noindex and nofollow say, and comes back
// when a server asks for time. Each URL that it finds is accounted for: fetched, blocked by a rule (and which), or lost
// (and why). It follows links within the hosts of the URLs it was given.
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
// The exit status is 0 if the crawl ran to its end or to -max-pages, 1 if not a single page could be fetched, or the
// output or the state of the crawl could not be kept, 2 if it was called wrongly, and 130 if it was interrupted: by
// Ctrl-C, after which it still prints its summary, and how to go on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it the hard way
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command: everything but the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("politespider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		userAgent = flags.String("user-agent", "", "`name` and address of your crawler, as in \""+demoAgent+"\"; required with URLs")
		maxPages  = flags.Int("max-pages", 100, "pages to fetch at most; 0: no limit")
		delay     = flags.Duration("delay", time.Second, "least `time` between two requests to a host; 0: none, for servers of your own")
		hosts     = flags.Int("hosts", 32, "hosts to crawl at a time")
		asJSON    = flags.Bool("json", false, "print a JSON object for each line, and one for the summary")
		keep      keeping
	)
	var cfg config
	flags.Var(&repeated{add: cfg.policyToken}, "policy-token", "`use=name`: a name that robots.txt may address a use by, as in train-ai=Google-Extended; may be repeated")
	flags.StringVar(&cfg.report, "report", "", "write what this run came to as an HTML `file`, to be opened in a browser")
	flags.StringVar(&keep.dir, "resume", "", "keep the state of the crawl in this `directory`, and go on with what is there")
	flags.StringVar(&keep.redisURL, "redis", "", "share the crawl with other processes through the Redis or Valkey at this `URL`,\nas in redis://user:password@127.0.0.1:6379/0; rediss for TLS")
	flags.StringVar(&keep.crawl, "crawl", "crawl", "`name` of the crawl in -redis, for which it is complete once and for all")
	flags.DurationVar(&keep.lease, "lease", 15*time.Second, "with -redis: `time` that a process may be silent before others take over what it was at")
	flags.Usage = func() {
		fmt.Fprint(stderr, "Politespider crawls websites as their robots.txt asks.\n\n"+
			"  politespider                  crawl a demo internet on loopback\n"+
			"  politespider [flags] URL...   crawl these sites\n\nFlags:\n")
		flags.PrintDefaults()
		fmt.Fprint(stderr, "\nExit status:\n"+
			"  0    the crawl ran to its end, or to -max-pages\n"+
			"  1    no page could be fetched, or the output or the state of the crawl could not be kept\n"+
			"  2    called wrongly\n"+
			"  130  interrupted by Ctrl-C\n")
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	fail := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "politespider: "+format+"\n", args...)
		return exitUsage
	}
	urls, err := keep.recall(flags)
	if err != nil {
		return fail("%v", err)
	}

	cfg.userAgent, cfg.maxPages, cfg.delay, cfg.hosts = *userAgent, *maxPages, *delay, *hosts
	cfg.logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch {
	case cfg.maxPages < 0:
		return fail("-max-pages %d: write a positive number, or 0 for no limit", cfg.maxPages)
	case cfg.delay < 0:
		return fail("-delay %v: write a positive time such as 2s, or 0 for none", cfg.delay)
	case cfg.hosts < 1:
		return fail("-hosts %d: write a positive number", cfg.hosts)
	}
	if err := keep.check(); err != nil {
		return fail("%v", err)
	}
	if err := checkReport(cfg.report); err != nil {
		return fail("%v", err)
	}
	if cfg.maxPages == 0 {
		cfg.maxPages = math.MaxInt
	}
	if cfg.delay == 0 {
		cfg.delay = -1
	}
	if len(urls) == 0 {
		site, err := demosite.Start()
		if err != nil {
			return fail("%v", err)
		}
		defer site.Close()
		transport := &http.Transport{DialContext: site.DialContext}
		defer transport.CloseIdleConnections()
		if err := cfg.demo(site); err != nil {
			return fail("%v", err)
		}
		cfg.base = transport
	} else {
		if cfg.userAgent == "" {
			return fail("say who is crawling: -user-agent \"YourBot/1.0 (+https://example.com/about-your-bot)\"")
		}
		if err := cfg.sites(urls); err != nil {
			return fail("%v", err)
		}
		for n, u := range cfg.start {
			urls[n] = u.String()
		}
	}
	kept, err := keep.open(ctx, cfg, about(flags, urls))
	if err != nil {
		fmt.Fprintf(stderr, "politespider: %v\n", err)
		return exitFailed
	}
	defer kept.close()
	return crawl(ctx, cfg, kept, *asJSON, stdout, stderr)
}

// crawl runs a crawl and returns the exit status.
func crawl(ctx context.Context, cfg config, kept *kept, asJSON bool, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	say := func(format string, args ...any) { fmt.Fprintf(stderr, "politespider: "+format+"\n", args...) }
	out := &checkedWriter{w: stdout, failed: cancel} // a crawl that cannot report need not go on
	p := newPrinter(out, isTerminal(stdout), asJSON)
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
	p.begin(cfg.what, cfg.userAgent)
	summary := s.crawl(ctx)
	failed := kept.State().Err
	if err := kept.Close(); failed == nil {
		failed = err
	}
	if err := writeReport(cfg.report, l.report, summary); failed == nil {
		failed = err
	}
	stopped := summary.Stopped != "" || out.err != nil
	switch {
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

// sites makes it a crawl of the hosts of these URLs.
func (c *config) sites(rawURLs []string) error {
	hosts := make(map[string]bool)
	for _, raw := range rawURLs {
		u, err := normalize(raw)
		if err != nil {
			return err
		}
		c.what = strings.TrimPrefix(c.what+", "+u.String(), ", ")
		c.start = append(c.start, u)
		hosts[u.Host] = true
	}
	c.inScope = func(u *url.URL) bool { return hosts[u.Host] }
	return nil
}
