package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A requestFunc starts a request with RoundTrip or Admit. It returns a function
// that ends the request, or the error because of which the request was not
// started.
type requestFunc func(ctx context.Context, tr *Transport, u *url.URL) (done func(), err error)

var requestFuncs = map[string]requestFunc{
	"RoundTrip": func(ctx context.Context, tr *Transport, u *url.URL) (done func(), err error) {
		resp, err := tr.RoundTrip((&http.Request{Method: "GET", URL: u, Header: make(http.Header)}).WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return func() { resp.Body.Close() }, nil
	},
	"Admit": func(ctx context.Context, tr *Transport, u *url.URL) (done func(), err error) {
		a, err := tr.Admit(ctx, u)
		if err != nil {
			if a != nil {
				return nil, fmt.Errorf("Admit returned an Admission in addition to the error: %w", err)
			}
			return nil, err
		}
		return func() { a.Done(politeness.Outcome{Status: 200}) }, nil
	},
}

// A requestTest is a test of one requestFunc.
type requestTest struct {
	t       *testing.T
	request requestFunc
	web     *robotstest.Internet
	file    *switchable // the robots.txt of a.example
	limiter *politeness.Limiter
	tr      *Transport
}

// newRequestTest returns a test of requests to a.example, whose robots.txt is
// the constant open. The Transport uses the limiter, which may be nil.
func newRequestTest(t *testing.T, d requestFunc, limiter *politeness.Limiter, edit ...func(*Options)) *requestTest {
	t.Helper()
	v := &requestTest{t: t, request: d, web: new(robotstest.Internet), file: new(switchable), limiter: limiter}
	v.file.set(robots(open, "Cache-Control: max-age=300"))
	v.web.Handle("a.example",
		newSite(v.file, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") })))
	if limiter != nil {
		limiter.Logger = slog.New(slog.DiscardHandler)
	}
	v.tr = newTestTransport(t, v.web, append([]func(*Options){func(o *Options) {
		o.Limiter, o.AttemptTimeout = limiter, -1
	}}, edit...)...)
	return v
}

// start starts a request for rawURL with v.request.
func (v *requestTest) start(ctx context.Context, rawURL string) (done func(), err error) {
	v.t.Helper()
	return v.request(ctx, v.tr, mustURL(v.t, rawURL))
}

// mustStart is like start, but an error ends the test.
func (v *requestTest) mustStart(rawURL string) (done func()) {
	v.t.Helper()
	done, err := v.start(v.t.Context(), rawURL)
	if err != nil {
		v.t.Fatalf("starting the request for %s: error %v, want none", rawURL, err)
	}
	return done
}

// checkIdle fails the test if a request waits or holds a slot.
func (v *requestTest) checkIdle() {
	v.t.Helper()
	synctest.Wait()
	if v.limiter == nil {
		return
	}
	if s := v.limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
		v.t.Errorf("%d requests wait, and %d are in flight; want none", s.Waiting, s.InFlight)
	}
}

// knownErrors are the errors that describe searches for with errors.Is.
var knownErrors = []error{
	ErrDisallowed, ErrUnreachable, ErrAddressRefused, politeness.ErrInvalidLimiter,
	context.Canceled, context.DeadlineExceeded, syscall.ECONNREFUSED, errUnwanted,
}

var errUnwanted = errors.New("no longer wanted")

// describe returns everything that a caller can find out about an error, as
// text.
func describe(err error) string {
	if err == nil {
		return "no error"
	}
	text := err.Error()
	for _, known := range knownErrors {
		if errors.Is(err, known) {
			text += "\nis: " + known.Error()
		}
	}
	text += fmt.Sprintf("\ntype: %T", err)
	if disallowed, ok := errors.AsType[*DisallowedError](err); ok {
		text += fmt.Sprintf("\nDisallowedError: %v", disallowed.Decision)
	}
	if delayed, ok := errors.AsType[*politeness.DelayError](err); ok {
		text += fmt.Sprintf("\nDelayError: %+v", *delayed)
	}
	return text
}

var errorTests = []struct {
	name    string
	want    string              // a part of what describe returns
	limiter *politeness.Limiter // copied for each requestFunc; nil means none
	edit    func(*Options)
	err     func(v *requestTest) error
}{
	{name: "nil URL", want: "the URL is nil", err: func(v *requestTest) error {
		_, err := v.request(v.t.Context(), v.tr, nil)
		return err
	}},
	{name: "no scheme", want: "no scheme", err: startURL("//a.example/")},
	{name: "relative", want: "no scheme", err: startURL("/page")},
	{name: "no host", want: "no host", err: startURL("http:///page")},
	{name: "opaque", want: "no host", err: startURL("http:a.example/page")},
	{name: "host too long", want: "longer than", err: startURL("http://" + strings.Repeat("a", 300) + "/")},
	{name: "port too large", want: "its port is not a number", err: startURL("http://a.example:65536/")},
	{name: "target of another origin", want: "names a different origin", err: func(v *requestTest) error {
		_, err := v.request(v.t.Context(), v.tr,
			&url.URL{Scheme: "http", Host: "a.example", Opaque: "http://b.example/"})
		return err
	}},

	{name: "rule", want: "line 2 of robots.txt", err: startURL("http://a.example/private/")},
	{name: "rule, with a Limiter", want: "is: " + ErrDisallowed.Error(), limiter: &politeness.Limiter{},
		err: startURL("http://a.example/private/")},
	{name: "dot segments", want: "as /private/", err: startURL("http://a.example/x/%2e%2e/private/")},
	{name: "userinfo", want: "user:xxxxx@a.example", err: startURL("http://user:secret@a.example/private/")},
	{name: "Override", want: "set for this origin", edit: func(o *Options) {
		o.Override = map[string]string{"http://a.example": shut}
	}, err: startURL("http://a.example/")},
	{name: "robots.txt forbidden", want: "counts as a disallow", edit: func(o *Options) { o.DisallowForbidden = true },
		err: func(v *requestTest) error {
			v.file.set(status(403))
			return startURL("http://a.example/")(v)
		}},
	{name: "robots.txt unreachable", want: "is: " + ErrUnreachable.Error(), err: func(v *requestTest) error {
		v.file.set(status(503))
		return startURL("http://a.example/")(v)
	}},
	{name: "connection refused", want: "is: " + syscall.ECONNREFUSED.Error(), err: func(v *requestTest) error {
		v.web.Fail("a.example", syscall.ECONNREFUSED)
		return startURL("http://a.example/")(v)
	}},
	{name: "no such host", want: "check the spelling", err: startURL("http://nowhere.example/")},
	{name: "address refused", want: "is: " + ErrAddressRefused.Error(), err: func(v *requestTest) error {
		v.web.Fail("a.example", refusedAddress())
		return startURL("http://a.example/")(v)
	}},

	{name: "not due, MaxWait -1", want: "Reason:crawl-delay", limiter: &politeness.Limiter{Delay: -1, MaxWait: -1},
		err: func(v *requestTest) error {
			v.file.set(robots("User-agent: *\nCrawl-delay: 10\n"))
			v.mustStart("http://a.example/1")()
			return startAtOnce(v, "http://a.example/2")
		}},
	{name: "no slot, MaxWait -1", want: "Reason:slot", limiter: &politeness.Limiter{Delay: -1, MaxWait: -1},
		err: func(v *requestTest) error {
			defer v.mustStart("http://a.example/1")()
			return startAtOnce(v, "http://a.example/2")
		}},
	{name: "Crawl-delay over MaxCrawlDelay", want: "Reason:crawl-delay", limiter: &politeness.Limiter{Delay: -1, MaxCrawlDelay: time.Minute},
		err: func(v *requestTest) error {
			v.file.set(robots("User-agent: *\nCrawl-delay: 3600\n"))
			v.mustStart("http://a.example/1")()
			return startAtOnce(v, "http://a.example/2")
		}},
	{name: "deadline before the host is due", want: "is: " + context.DeadlineExceeded.Error(), limiter: &politeness.Limiter{Delay: time.Minute},
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")()
			ctx, cancel := context.WithTimeout(v.t.Context(), 30*time.Second)
			defer cancel()
			start := time.Now()
			_, err := v.start(ctx, "http://a.example/2")
			if time.Since(start) != 0 {
				v.t.Errorf("the error was returned after %v, want immediately", time.Since(start))
			}
			return err
		}},
	{name: "deadline before robots.txt can be fetched", want: "type: *politeness.DelayError", limiter: &politeness.Limiter{Delay: time.Minute},
		err: func(v *requestTest) error {
			pauseHost(v.t, v.limiter, "http://a.example/page", time.Hour)
			ctx, cancel := context.WithTimeout(v.t.Context(), 30*time.Second)
			defer cancel()
			_, err := v.start(ctx, "http://a.example/")
			return err
		}},
	{name: "Budget spent", want: "Reason:budget", limiter: &politeness.Limiter{Delay: -1, Budget: politeness.Budget{Requests: 2}},
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")() // after robots.txt
			return startURL("http://a.example/2")(v)
		}},
	{name: "Key fails", want: "no key today", limiter: &politeness.Limiter{Key: func(context.Context, *url.URL) (string, error) {
		return "", errors.New("no key today")
	}}, edit: func(o *Options) { o.Override = map[string]string{"http://a.example": ""} }, err: startURL("http://a.example/")},
	{name: "invalid Limiter inside Base", want: "is: " + politeness.ErrInvalidLimiter.Error(), edit: func(o *Options) {
		o.Base = wrapping{&politeness.Transport{Base: o.Base, Limiter: &politeness.Limiter{Jitter: -1}}}
	}, err: startURL("http://a.example/")},

	{name: "canceled before", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{},
		err: startCanceled},
	{name: "canceled before, without a Limiter", want: "is: " + context.Canceled.Error(), err: startCanceled},
	{name: "canceled before, with robots.txt in memory", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{},
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")()
			return startCanceled(v)
		}},
	{name: "canceled before, with robots.txt in memory, without a Limiter", want: "context canceled",
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")()
			return startCanceled(v)
		}},
	{name: "canceled while robots.txt is fetched", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{},
		err: func(v *requestTest) error {
			v.file.set(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Second) }))
			return startCanceledAfter(v, time.Second)
		}},
	{name: "canceled while robots.txt waits for its host", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{},
		err: func(v *requestTest) error {
			pauseHost(v.t, v.limiter, "http://a.example/page", 5*time.Second)
			return startCanceledAfter(v, time.Second)
		}},
	{name: "canceled while the host is not due", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{Delay: time.Minute},
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")()
			return startCanceledAfter(v, time.Second)
		}},
	{name: "canceled while the slot is taken", want: "is: " + context.Canceled.Error(), limiter: &politeness.Limiter{Delay: -1},
		err: func(v *requestTest) error {
			defer v.mustStart("http://a.example/1")()
			return startCanceledAfter(v, time.Second)
		}},
	{name: "canceled for a cause", want: "is: " + errUnwanted.Error(), limiter: &politeness.Limiter{Delay: time.Minute},
		err: func(v *requestTest) error {
			v.mustStart("http://a.example/1")()
			ctx, cancel := context.WithCancelCause(v.t.Context())
			time.AfterFunc(time.Second, func() { cancel(errUnwanted) })
			_, err := v.start(ctx, "http://a.example/2")
			return err
		}},

	{name: "disallowed while it waits", want: "Disallow: /", limiter: &politeness.Limiter{Delay: -1, Lease: time.Hour},
		err: func(v *requestTest) error {
			done := v.mustStart("http://a.example/1")
			v.file.set(robots(shut))
			time.AfterFunc(400*time.Second, done)
			return startURL("http://a.example/2")(v)
		}},
	{name: "disallowed by a file that another request has loaded", want: "type: *robotsmw.DisallowedError", limiter: &politeness.Limiter{Delay: -1, Lease: time.Hour},
		err: func(v *requestTest) error {
			done := v.mustStart("http://a.example/1")
			v.file.set(robots(shut))
			time.AfterFunc(280*time.Second, func() { // begins a refresh
				v.tr.Checker().Check(context.Background(), mustURL(v.t, "http://a.example/"))
			})
			time.AfterFunc(290*time.Second, done)
			return startURL("http://a.example/2")(v)
		}},
	{name: "unreachable while it waits", want: "is: " + ErrUnreachable.Error(), limiter: &politeness.Limiter{Delay: -1, Lease: time.Hour},
		err: func(v *requestTest) error {
			v.file.set(status(404, "Cache-Control: max-age=300"))
			done := v.mustStart("http://a.example/1")
			v.file.set(status(503))
			time.AfterFunc(400*time.Second, done)
			return startURL("http://a.example/2")(v)
		}},
	{name: "the caller's check fails", want: "is: " + errUnwanted.Error(), limiter: &politeness.Limiter{},
		err: func(v *requestTest) error {
			ctx := politeness.WithCheck(v.t.Context(), func(context.Context) error { return errUnwanted })
			_, err := v.start(ctx, "http://a.example/")
			return err
		}},

	{name: "none", want: "no error", limiter: &politeness.Limiter{}, err: startURL("http://a.example/")},
	{name: "none, without a Limiter", want: "no error", err: startURL("http://a.example/")},
	{name: "robots.txt itself", want: "no error", err: startURL("http://a.example/robots.txt")},
}

func startURL(rawURL string) func(*requestTest) error {
	return func(v *requestTest) error {
		done, err := v.start(v.t.Context(), rawURL)
		if err == nil {
			done()
		}
		return err
	}
}

// startAtOnce returns the error of a request that must not wait.
func startAtOnce(v *requestTest, rawURL string) error {
	v.t.Helper()
	start := time.Now()
	err := startURL(rawURL)(v)
	if time.Since(start) != 0 {
		v.t.Errorf("the error was returned after %v, want immediately", time.Since(start))
	}
	return err
}

func startCanceled(v *requestTest) error {
	ctx, cancel := context.WithCancel(v.t.Context())
	cancel()
	_, err := v.start(ctx, "http://a.example/2")
	return err
}

func startCanceledAfter(v *requestTest, d time.Duration) error {
	ctx, cancel := context.WithCancel(v.t.Context())
	time.AfterFunc(d, cancel)
	start := time.Now()
	_, err := v.start(ctx, "http://a.example/2")
	if time.Since(start) != d {
		v.t.Errorf("the error was returned after %v, want %v", time.Since(start), d)
	}
	return err
}

// A program uses the Transport for some pages and a browser for others. Both
// return the same errors. After an error, no request waits, and no slot is
// held.
func TestAdmit_ErrorsOfRoundTrip(t *testing.T) {
	for _, tt := range errorTests {
		t.Run(tt.name, func(t *testing.T) {
			got := make(map[string]string)
			for name, d := range requestFuncs {
				synctest.Test(t, func(t *testing.T) {
					var limiter *politeness.Limiter
					if l := tt.limiter; l != nil {
						limiter = &politeness.Limiter{Delay: l.Delay, MaxWait: l.MaxWait,
							MaxCrawlDelay: l.MaxCrawlDelay, Budget: l.Budget, Key: l.Key, Lease: l.Lease}
					}
					var edit []func(*Options)
					if tt.edit != nil {
						edit = append(edit, tt.edit)
					}
					v := newRequestTest(t, d, limiter, edit...)
					got[name] = describe(tt.err(v))
					if !strings.Contains(got[name], tt.want) {
						t.Errorf("the error of %s is\n%s\nwant it to contain %q", name, got[name], tt.want)
					}
					time.Sleep(20 * time.Second) // the fetch of robots.txt may go on without its callers
					v.checkIdle()
				})
			}
			if got["Admit"] != got["RoundTrip"] {
				t.Errorf("Admit and RoundTrip return different errors:\nAdmit: %s\nRoundTrip: %s", got["Admit"],
					got["RoundTrip"])
			}
		})
	}
}

// 50 pages of a host wait while a browser has another page open. Meanwhile,
// robots.txt expires, and changes so that it disallows all of them. When the
// browser is done, robots.txt is fetched once more, and no page is admitted.
func TestAdmit_DisallowedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, requestFuncs["Admit"], &politeness.Limiter{Lease: time.Hour})
		done := v.mustStart("http://a.example/1")
		v.file.set(robots(shut))
		errs := make(chan error, 50)
		for i := range cap(errs) {
			go func() {
				_, err := v.start(t.Context(), fmt.Sprintf("http://a.example/%d", i))
				errs <- err
			}()
		}
		time.Sleep(400 * time.Second)
		start := time.Now()
		done()
		for range cap(errs) {
			err := <-errs
			if disallowed, ok := errors.AsType[*DisallowedError](err); !ok || disallowed.Decision.Rule != "/" {
				t.Errorf("error %v, want the rule that disallows the page", err)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the last page was disallowed after %v, want at most 5s", took)
		}
		if n := robotsFetches(v.web, "a.example"); n != 2 {
			t.Errorf("robots.txt was fetched %d times, want twice", n)
		}
		v.checkIdle()
	})
}

// robots.txt changes while a page waits, but still allows the page. The
// Admission contains the decision by the new file, and the Limiter's Observer
// finds the same decision.
func TestAdmit_DecisionByTheNewFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var granted []*Decision
		limiter := &politeness.Limiter{Delay: -1, Lease: time.Hour, Observer: &politeness.Observer{
			Granted: func(ctx context.Context, e politeness.Event) {
				if !e.Exempt {
					granted = append(granted, DecisionOf(ctx))
				}
			},
		}}
		v := newRequestTest(t, nil, limiter)
		first, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/1"))
		if err != nil {
			t.Fatal(err)
		}
		v.file.set(robots("User-agent: *\nDisallow: /other/\nAllow: /2\n"))
		time.AfterFunc(280*time.Second, func() { // begins a refresh, and the file in force is replaced
			v.tr.Checker().Check(context.Background(), mustURL(t, "http://a.example/"))
		})
		time.AfterFunc(290*time.Second, func() { first.Done(politeness.Outcome{}) })
		second, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/2"))
		if err != nil {
			t.Fatal(err)
		}
		defer second.Done(politeness.Outcome{})
		if d := second.Decision; d.Rule != "/2" || d.Line != 3 {
			t.Errorf("the decision is %v, want line 3 of the new file", d)
		}
		if len(granted) != 2 || granted[1] == nil || granted[1].Rule != "/2" {
			t.Errorf("the Observer received the decisions %v, want two, the second by the rule /2", granted)
		}
	})
}

// A scheduler reuses one url.URL for all its pages. The Admission, and the
// events of the Limiter, keep the URL that was admitted.
func TestAdmit_CallerChangesTheURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		limiter := &politeness.Limiter{Observer: &politeness.Observer{Ended: func(_ context.Context, e politeness.Event) {
			ended = append(ended, e.URL.Path)
		}}}
		v := newRequestTest(t, nil, limiter)
		u := mustURL(t, "http://a.example/first")
		a, err := v.tr.Admit(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/second"
		if got := a.Decision.URL.Path; got != "/first" {
			t.Errorf("the Decision is about %s, want /first", got)
		}
		a.Done(politeness.Outcome{Status: 200})
		if len(ended) != 2 || ended[1] != "/first" {
			t.Errorf("the Observer received %v, want robots.txt and the page", ended)
		}
		if u.Path != "/second" {
			t.Errorf("the caller's URL is %v, want its path unchanged", u)
		}
	})
}

// A browser would convert a host by its own rules. Therefore the Admission
// contains the host in the form with which robots.txt was requested.
func TestAdmit_HostInASCII(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, nil)
		v.web.Handle("xn--bcher-kva.example", robots(open))
		a, err := v.tr.Admit(t.Context(), mustURL(t, "http://BÜCHER.example/page?q=1"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := a.Decision.URL.String(), "http://xn--bcher-kva.example/page?q=1"; got != want {
			t.Errorf("the URL is %s, want %s", got, want)
		}
	})
}

// Only the first call of Done has an effect, because another page may have the
// slot at the second call.
func TestAdmission_DoneTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, &politeness.Limiter{Delay: -1})
		admit := func() *Admission {
			t.Helper()
			a, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/"))
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		first := admit()
		first.Done(politeness.Outcome{Status: 200})
		second := admit()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { first.Done(politeness.Outcome{Status: 429}) })
		}
		wg.Wait()
		if s := v.limiter.Stats(); s.InFlight != 1 {
			t.Errorf("%d requests are in flight, want 1", s.InFlight)
		}
		second.Done(politeness.Outcome{Status: 200})
		start := time.Now()
		admit().Done(politeness.Outcome{})
		if time.Since(start) != 0 {
			t.Errorf("the host was paused for %v because of a second Done, want no pause", time.Since(start))
		}
		v.checkIdle()
	})
}

// A program never calls Done. The host's next page is admitted when the lease
// ends.
func TestAdmission_DoneNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, &politeness.Limiter{Lease: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		forgotten, err := v.tr.Admit(ctx, mustURL(t, "http://a.example/1"))
		if err != nil {
			t.Fatal(err)
		}
		cancel() // the end of the context does not end the request
		start := time.Now()
		next, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/2"))
		if err != nil || time.Since(start) != time.Minute {
			t.Fatalf("Admit returned the error %v after %v, want none after 1m0s", err, time.Since(start))
		}
		forgotten.Done(politeness.Outcome{})
		if s := v.limiter.Stats(); s.InFlight != 1 {
			t.Errorf("%d requests are in flight, want 1", s.InFlight)
		}
		next.Done(politeness.Outcome{})
		v.checkIdle()
	})
}

func TestAdmission_DoneWithoutAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		(*Admission)(nil).Done(politeness.Outcome{Status: 200})
		new(Admission).Done(politeness.Outcome{Status: 200})
		a, err := newRequestTest(t, nil, nil).tr.Admit(t.Context(), mustURL(t, "http://a.example/"))
		if err != nil {
			t.Fatal(err)
		}
		a.Done(politeness.Outcome{Status: 429})
		a.Done(politeness.Outcome{})
	})
}

// Without a Limiter, all allowed URLs are admitted immediately.
func TestAdmit_WithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, nil)
		v.file.set(robots("User-agent: *\nCrawl-delay: 60\n"))
		start := time.Now()
		for range 10 {
			if _, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/")); err != nil {
				t.Errorf("Admit returned error %v, want none", err)
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("ten calls of Admit took %v, want 0s", time.Since(start))
		}
	})
}

// If Base is a politeness.Transport, its Limiter delays the requests. If it has
// no Limiter, Admit returns an error.
func TestAdmit_LimiterInBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := new(politeness.Limiter)
		v := newRequestTest(t, nil, nil,
			func(o *Options) { o.Base = &politeness.Transport{Base: o.Base, Limiter: limiter} })
		start := time.Now()
		for range 3 {
			a, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/"))
			if err != nil {
				t.Fatal(err)
			}
			a.Done(politeness.Outcome{})
		}
		if time.Since(start) != 3*time.Second { // after robots.txt
			t.Errorf("robots.txt and three pages took %v, want 3s", time.Since(start))
		}
		v = newRequestTest(t, nil, nil, func(o *Options) { o.Base = &politeness.Transport{Base: o.Base} })
		if a, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/")); err == nil || a != nil || !strings.Contains(err.Error(), "set its Limiter") {
			t.Errorf("Admit returned %v and error %v, want only an error that contains \"set its Limiter\"", a, err)
		}
	})
}

// The Limiter treats the Outcome that a browser reports like the response of a
// RoundTrip.
func TestAdmission_DoneWithARetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, requestFuncs["RoundTrip"], new(politeness.Limiter))
		a, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/1"))
		if err != nil {
			t.Fatal(err)
		}
		a.Done(politeness.Outcome{Status: 429, Header: http.Header{"Retry-After": {"100"}}})
		start := time.Now()
		v.mustStart("http://a.example/2")()
		if time.Since(start) != 100*time.Second {
			t.Errorf("the next page was sent after %v, want 100s", time.Since(start))
		}
	})
}

// A browser is redirected within its host, which has one slot. After Done, the
// target is due an interval after the redirect.
func TestAdmit_Redirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, &politeness.Limiter{Delay: 5 * time.Second})
		start := time.Now()
		for _, hop := range []string{"/old", "/newer", "/newest", "/private/"} {
			a, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example"+hop))
			if hop == "/private/" {
				if !errors.Is(err, ErrDisallowed) {
					t.Errorf("error %v, want ErrDisallowed", err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			a.Done(politeness.Outcome{Status: 301})
		}
		if time.Since(start) != 15*time.Second {
			t.Errorf("three hops took %v, want 15s", time.Since(start))
		}
		v.checkIdle()
	})
}

// robots.txt does not apply to a file or a WebSocket. Requests to a host are
// delayed whatever their scheme is.
func TestAdmit_OtherSchemes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, &politeness.Limiter{Delay: time.Minute})
		start := time.Now()
		for _, tt := range []struct {
			url  string
			took time.Duration
		}{
			{"file:///etc/passwd", 0},
			{"mailto:a@a.example", 0},
			{"ws://a.example/", 0},
			{"ws://a.example/", time.Minute},
			{"file:///etc/passwd", time.Minute},
		} {
			a, err := v.tr.Admit(t.Context(), mustURL(t, tt.url))
			if err != nil || a.Decision.Reason != NotApplicable || a.Decision.URL.String() != tt.url {
				t.Errorf("%s: got %+v and error %v; want an Admission with this URL and the reason not-applicable", tt.url, a,
					err)
			}
			if time.Since(start) != tt.took {
				t.Errorf("%s was admitted after %v, want %v", tt.url, time.Since(start), tt.took)
			}
			a.Done(politeness.Outcome{})
		}
		if n := len(v.web.Log()); n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}

// net/http sends the Opaque part of a URL to the URL's host. Any other client
// gets the URL as a string, which leaves the host out: "http:/page" leads a
// browser to the host "page".
func TestAdmit_OpaquePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, new(politeness.Limiter))
		for _, u := range []*url.URL{
			{Scheme: "http", Host: "a.example", Opaque: "/page"},
			{Scheme: "http", Host: "a.example", Opaque: "//a.example/page"},
			{Scheme: "http", Host: "a.example", Path: "http://a.example/page"},
			{Scheme: "ws", Host: "a.example", Opaque: "//b.example/page"},
		} {
			if a, err := v.tr.Admit(t.Context(), u); err == nil || a != nil {
				t.Errorf("%#v: admitted as %v, want an error", u, a.Decision.URL)
			}
		}
		time.Sleep(time.Minute)
		v.checkIdle()
	})
}

// Admit causes the same events as RoundTrip.
func TestAdmit_Observers(t *testing.T) {
	type key struct{}
	events := make(map[string][]string)
	for name, d := range requestFuncs {
		synctest.Test(t, func(t *testing.T) {
			note := func(format string, args ...any) {
				events[name] = append(events[name], fmt.Sprintf(format, args...))
			}
			limiter := &politeness.Limiter{Observer: &politeness.Observer{
				Granted: func(ctx context.Context, e politeness.Event) {
					if !e.Exempt {
						note("granted %s for %v, delay %v, Crawl-delay %v, decision %v", e.URL, e.Wait, e.Delay,
							e.CrawlDelay, DecisionOf(ctx))
					}
				},
				Answered: func(_ context.Context, e politeness.Event) {
					if !e.Exempt {
						note("answered %s with %d, request %d", e.URL, e.Status, e.Request)
					}
				},
				Ended: func(_ context.Context, e politeness.Event) {
					if !e.Exempt {
						note("ended %s after %v with %d", e.URL, e.Wait, e.Status)
					}
				},
				Rejected: func(ctx context.Context, e politeness.Event) {
					note("refused %s, %v, %v", e.Host, e.Reason, DecisionOf(ctx))
				},
			}}
			v := newRequestTest(t, d, limiter, func(o *Options) {
				o.Observer = &Observer{Decided: func(ctx context.Context, d Decision) {
					note("decided %v for %v", d, ctx.Value(key{}))
				}}
			})
			v.file.set(robots(open + "Crawl-delay: 3\n"))
			ctx := context.WithValue(politeness.WithTrace(t.Context(), &politeness.Trace{
				Queued:  func(until time.Time, why politeness.Reason) { note("queued until %v, %v", until, why) },
				Granted: func(at time.Time) { note("trace: granted at %v", at) },
			}), key{}, "the caller")
			for _, page := range []string{"/1", "/2", "/private/"} {
				done, err := v.start(ctx, "http://a.example"+page)
				if err != nil {
					note("%v", err)
					continue
				}
				time.Sleep(time.Second)
				done()
			}
			short, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			_, err := v.start(short, "http://a.example/3")
			note("%v", err)
		})
	}
	admitted, sent := strings.Join(events["Admit"], "\n"), strings.Join(events["RoundTrip"], "\n")
	// With RoundTrip, the Limiter receives the outcome when the header has been
	// received. With Admit, it receives the outcome from Done.
	if len(events["Admit"]) < 12 || admitted != sent {
		t.Errorf("the events differ or are incomplete:\nAdmit:\n%s\nRoundTrip:\n%s", admitted, sent)
	}
}

// A program may pass the context of an earlier response to Admit. The
// Crawl-delay and the decision in that context have no effect on the new
// request.
func TestAdmit_ContextOfAnEarlierResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, &politeness.Limiter{Delay: -1})
		v.web.Handle("b.example", robots("User-agent: *\nCrawl-delay: 50\n"))
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://b.example/", nil)
		resp, err := v.tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		v.web.Handle("b.example", robots(shut))
		time.Sleep(25 * time.Hour)
		start := time.Now()
		for range 2 {
			a, err := v.tr.Admit(resp.Request.Context(), mustURL(t, "http://a.example/"))
			if err != nil {
				t.Fatal(err)
			}
			a.Done(politeness.Outcome{})
		}
		if time.Since(start) != 0 {
			t.Errorf("two calls of Admit took %v, want 0s: the Crawl-delay of another host was used", time.Since(start))
		}
	})
}

// With StrictIdentity, RoundTrip returns an error for a request with a foreign
// User-Agent. Admit receives no header, because the caller sends
// Options.UserAgent.
func TestAdmit_StrictIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRequestTest(t, nil, nil, func(o *Options) {
			o.UserAgent = "Anything/1.0 (+https://example.com/bot)"
			o.ProductTokens = []string{"ExampleBot"}
			o.StrictIdentity = true
		})
		if _, err := v.tr.Admit(t.Context(), mustURL(t, "http://a.example/")); err != nil {
			t.Errorf("Admit returned error %v, want none", err)
		}
	})
}
