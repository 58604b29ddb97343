package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// maxPuts is how often a page that answers 429 or 503 goes back into the queue.
const maxPuts = 3

// maxWait is how long a worker waits for a host, if -delay is not longer. What takes longer is up to the frontier, and the
// worker is free.
const maxWait = 5 * time.Second

// config is what a crawl is to be.
type config struct {
	what         string // in a few words
	start        []*url.URL
	inScope      func(*url.URL) bool // whether a link is to be followed
	maxPages     int
	maxDepth     int           // links from a start URL to a page
	maxTime      time.Duration // 0: no limit
	sitemaps     bool          // that robots.txt names are read
	adaptive     float64       // 0: off; see politeness.Adaptive
	pages        *pageFiles    // where pages are kept
	userAgent    string
	delay        time.Duration               // between requests to a host; negative: none
	hosts        int                         // crawled at a time
	policyTokens map[preference.Use][]string // names that stand for a use
	base         http.RoundTripper           // nil: http.DefaultTransport
	store        robotsmw.Store              // of robots.txt records; nil: memory alone
	pace         politeness.Backend          // of a fleet; nil: of this process alone
	logger       *slog.Logger
	report       string // where to; "": nowhere
}

// spider crawls with colly. The frontier decides what is next, colly fetches and reads it, and the extension sees to it
// that robots.txt is obeyed and hosts are spared: whatever the frontier hands out, nothing disallowed is sent.
type spider struct {
	config
	collector *colly.Collector
	frontier  queue
	ledger    *ledger
	visits    sync.Map // URL → *visit, those under way
	seeded    sync.Map // URLs of each robots.txt whose sitemaps are queued
	fail      func(error)
	asked     asked
	pauses    sync.Map // host → until when, of those that no record speaks of yet
}

// visit is one attempt at a page, filled in by those who see a part of it.
type visit struct {
	page       *frontier.Page
	sent       time.Time          // by witness; zero: nothing was sent
	requests   []record.Request   // by witness, too
	decision   *robotsmw.Decision // by the Observer; nil: robots.txt was not asked
	response   *colly.Response    // nil: there was none
	noIndex    bool
	noFollow   bool
	noArchive  bool
	said       record.Said
	links      []string // absolute; to be followed
	left       []string // not to be
	linksError error    // they could not be read
}

func newSpider(cfg config, q queue, l *ledger) (*spider, error) {
	s := &spider{config: cfg, frontier: q, ledger: l}
	c := colly.NewCollector()
	c.AllowURLRevisit = true        // the frontier knows what was fetched, and 429 wants a second try
	c.ParseHTTPErrorResponse = true // OnError is then for what has no answer
	c.DisableCookies()
	// A redirect leads to a URL of its own: it is queued, so that no page is fetched twice, and waits for its own host.
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })

	base := cfg.base
	if base == nil {
		base = http.DefaultTransport
	}
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: cfg.userAgent,
		Base:      witness{base, s},
		Limiter:   &politeness.Limiter{Delay: cfg.delay, Adaptive: politeness.Adaptive{Factor: cfg.adaptive}, MaxWait: max(maxWait, 2*cfg.delay), Shared: cfg.pace, Observer: &politeness.Observer{BackedOff: s.limited}, Logger: cfg.logger},
		Observer:  &robotsmw.Observer{Decided: s.robotsDecided, Fetched: s.robotsFetched},
		KeepFiles: true, // for what they say about use
		Store:     cfg.store,
		Logger:    cfg.logger,
	})
	if err != nil {
		return nil, err
	}
	c.OnResponse(func(r *colly.Response) { s.hear(visitOf(r.Ctx), r, ext) })
	s.collector = c
	return s, nil
}

// crawl fetches what there is to fetch, until it is over or the context ends.
func (s *spider) crawl(ctx context.Context) record.Summary {
	s.collector.Context = ctx
	for _, u := range s.start {
		s.frontier.Add(&frontier.Page{URL: u})
	}
	stopProgress := s.showProgress()
	var workers sync.WaitGroup
	for range s.hosts {
		workers.Go(func() {
			for {
				p, ok := s.frontier.Take(ctx)
				if !ok {
					return
				}
				s.visit(ctx, p)
			}
		})
	}
	workers.Wait()
	stopProgress()

	state := s.frontier.State()
	stopped := ""
	switch {
	case s.failure(ctx) != nil:
		stopped = "failed"
	case errors.Is(context.Cause(ctx), errMaxTime):
		stopped = "max-time"
	case ctx.Err() != nil:
		stopped = "interrupted"
	case state.Queued > 0:
		stopped = "max-pages"
	}
	return s.ledger.finish(stopped, state)
}

var (
	errMaxTime = errors.New("-max-time is over")
	errFailed  = errors.New("the crawl has failed")
)

// failure is why the crawl could not go on, though nobody stopped it.
func (s *spider) failure(ctx context.Context) error {
	if err := s.frontier.State().Err; err != nil {
		return err
	}
	if err := context.Cause(ctx); errors.Is(err, errFailed) {
		return err
	}
	return nil
}

// showProgress keeps a terminal up to date until the function that it returns is called.
func (s *spider) showProgress() (stop func()) {
	if _, ok := s.ledger.print.(liveness); !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.ledger.progress(s.frontier.State())
			}
		}
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

// visit fetches one page, says what became of it, and gives it back to the frontier.
func (s *spider) visit(ctx context.Context, p *frontier.Page) {
	v := &visit{page: p}
	key := p.URL.String()
	s.visits.Store(key, v)
	collyCtx := colly.NewContext()
	collyCtx.Put("visit", v)
	err := s.collector.Request(http.MethodGet, key, nil, collyCtx, nil)
	s.visits.Delete(key)
	s.seed(v.decision)

	if err != nil && ctx.Err() != nil { // interrupted: the page has not had its turn
		s.frontier.PutBack(p, v.sent.Add(s.interval(v))) // others may go on with its host
		return
	}
	r := record.Record{URL: key, Host: frontier.HostKey(p.URL), From: p.From, Decision: v.decision}
	if !v.sent.IsZero() {
		r.Waited = inSeconds(v.sent.Sub(p.Ready))
		for _, request := range v.requests {
			request.Interval = inSeconds(s.interval(v))
			r.Requests = append(r.Requests, request)
		}
		r.PausedUntil = s.pause(r.Host)
	}
	switch {
	case err == nil && v.response == nil:
		s.refused(p, r, errors.New("a callback aborted the request"))
	case err != nil:
		s.refused(p, r, err)
	case v.response.StatusCode == http.StatusTooManyRequests || v.response.StatusCode == http.StatusServiceUnavailable:
		s.putOff(v, r)
	default:
		s.fetched(v, r)
	}
}

// fetched deals with an answer: its directives, and the URLs that it leads to.
func (s *spider) fetched(v *visit, r record.Record) {
	if err := s.pages.keep(v); err != nil {
		s.fail(fmt.Errorf("%w: %w", errFailed, err))
		s.frontier.PutBack(v.page, v.sent.Add(s.interval(v)))
		return
	}
	resp := v.response
	r.Verdict, r.Status = record.Fetched, resp.StatusCode
	r.NoIndex, r.NoFollow, r.Said = v.noIndex, v.noFollow, v.said
	if v.linksError != nil {
		r.Error = reason(v.linksError)
	}
	if location := resp.Headers.Get("Location"); location != "" && r.Status >= 300 && r.Status <= 399 {
		r.Verdict, r.Location = record.Moved, resp.Request.AbsoluteURL(location)
		v.links, v.left = []string{r.Location}, nil
		if r.NoFollow {
			v.links, v.left = v.left, v.links
		}
	}
	r.LinksLeft = len(v.left)
	switch {
	case r.Verdict == record.Moved:
		r.Links = s.follow(frontier.Page{From: r.URL, Depth: v.page.Depth, Sitemap: v.page.Sitemap}, v.links)
	case v.page.Sitemap && r.Status <= 299:
		r.Links = s.sow(v.page, resp.Body)
	case r.Status <= 399:
		r.Links = s.follow(frontier.Page{From: r.URL, Depth: v.page.Depth + 1}, v.links)
	}
	s.ledger.add(r)
	s.frontier.Done(v.page, v.sent, s.interval(v))
}

// follow queues the links that are new and in scope, and returns how many. Each makes such a page, with a URL of its own.
func (s *spider) follow(such frontier.Page, links []string) int {
	if such.Depth > s.maxDepth {
		return 0
	}
	var pages []*frontier.Page
	for _, link := range links {
		if u, err := normalize(link); err == nil && s.inScope(u) {
			p := such
			p.URL = u
			pages = append(pages, &p)
		}
	}
	return s.frontier.Add(pages...)
}

// putOff queues a page again whose server asks for time, unless it has done so too often.
func (s *spider) putOff(v *visit, r record.Record) {
	p, now := v.page, time.Now()
	r.Status, r.Put = v.response.StatusCode, p.Puts
	if p.Puts == maxPuts {
		r.Verdict = record.Missing
		s.ledger.add(r)
		s.frontier.Done(p, v.sent, s.interval(v))
		return
	}
	p.Puts++
	until := now.Add(retryAfter(v.response.Headers, now))
	r.Verdict, r.Put, r.Again = record.Later, p.Puts, until.Sub(now).Round(time.Millisecond).Seconds()
	s.ledger.add(r)
	s.frontier.PutBack(p, until)
}

// refused deals with a page that there is no answer for.
func (s *spider) refused(p *frontier.Page, r record.Record, err error) {
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		r.Verdict, r.Again = record.Later, time.Until(delay.Until).Round(time.Millisecond).Seconds()
		s.ledger.add(r)
		s.frontier.PutBack(p, delay.Until)
		return
	}
	disallowed, ok := errors.AsType[*robotsmw.DisallowedError](err)
	if !ok {
		r.Verdict, r.Error = record.Failed, reason(err)
		s.ledger.add(r)
		s.frontier.Done(p, time.Now(), 0)
		return
	}
	r.Decision = &disallowed.Decision
	r.Verdict = record.Blocked
	if errors.Is(err, robotsmw.ErrUnreachable) {
		r.Verdict, r.Error = record.Unreachable, "robots.txt: "+disallowed.Decision.Cause
	}
	s.ledger.add(r)
	s.frontier.Refund(p)
}

// interval is how long the host of a page that was fetched is to be left alone, as far as the spider knows: a worker that
// is early waits in the Limiter, which knows better.
func (s *spider) interval(v *visit) time.Duration {
	interval := max(s.delay, 0)
	if v.decision != nil {
		interval = max(interval, v.decision.CrawlDelay)
	}
	return interval
}

// robotsDecided takes down what robots.txt says.
func (s *spider) robotsDecided(_ context.Context, d robotsmw.Decision) {
	if v, ok := s.visits.Load(d.URL.String()); ok {
		v.(*visit).decision = &d
	}
}

// robotsFetched takes down how robots.txt came.
func (s *spider) robotsFetched(_ context.Context, f robotsmw.Fetch) {
	r := record.Record{Verdict: record.RobotsTxt, URL: f.URL, Status: f.Status, Redirects: f.Redirects}
	if u, err := url.Parse(f.URL); err == nil {
		r.Host = frontier.HostKey(u)
	}
	if f.Outcome == robotsmw.FetchUnreachable {
		r.Error = f.Cause
	}
	r.Requests, r.PausedUntil = s.asked.take(f.URL), s.pause(r.Host)
	s.ledger.add(r)
}

// limited takes down that a host is left alone, and until when.
func (s *spider) limited(_ context.Context, e politeness.Event) { s.pauses.Store(e.Host, e.Until) }

// pause is until when a host is left alone, in seconds since the crawl began, if its latest answer is why; else 0.
func (s *spider) pause(host string) float64 {
	until, ok := s.pauses.LoadAndDelete(host)
	if !ok {
		return 0
	}
	return s.ledger.offset(until.(time.Time))
}

func visitOf(ctx *colly.Context) *visit { return ctx.GetAny("visit").(*visit) }

// retryAfter is how long a response asks us to wait (RFC 9110 §10.2.3); 0 if it does not say.
func retryAfter(h *http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// reason is an error without the URL, which stands beside it.
func reason(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

// normalize returns the URL as colly will send it.
func normalize(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https URL: write it in full, as in http://%s", rawURL, strings.TrimLeft(rawURL, "/"))
	}
	absolute := (&colly.Request{URL: u}).AbsoluteURL(rawURL)
	if absolute == "" {
		return nil, fmt.Errorf("%q is not a URL", rawURL)
	}
	return withoutFragment(absolute)
}

func withoutFragment(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
