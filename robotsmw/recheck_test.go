package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const (
	open = "User-agent: *\nDisallow: /private/\n"
	shut = "User-agent: *\nDisallow: /\n"
)

func newSite(file, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", file)
	mux.Handle("/", page)
	return mux
}

// webWithExpiringFile returns an internet with the site a.example, whose
// robots.txt expires after five minutes. file.set replaces the robots.txt.
func webWithExpiringFile() (web *robotstest.Internet, file *switchable) {
	web = new(robotstest.Internet)
	file = new(switchable)
	file.set(robots(open, "Cache-Control: max-age=300"))
	web.Handle("a.example", newSite(file, status(200)))
	return web, file
}

// getPages sends n requests at once, for /1, /2 and so on, and returns when all
// have ended. It returns how many were answered, and how many robots.txt
// disallowed.
func getPages(t *testing.T, client *http.Client, host string, n int) (answered, refused int) {
	t.Helper()
	var wg sync.WaitGroup
	var yes, no atomic.Int32
	for i := range n {
		wg.Go(func() {
			resp, err := client.Get(fmt.Sprintf("http://%s/%d", host, i+1))
			switch {
			case err == nil:
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				yes.Add(1)
			case errors.Is(err, ErrDisallowed):
				if !strings.Contains(err.Error(), "Disallow") {
					t.Errorf("the error of a disallowed request is %v, want it to contain the rule", err)
				}
				no.Add(1)
			default:
				t.Errorf("Get returned error %v, want none or ErrDisallowed", err)
			}
		})
	}
	wg.Wait()
	return int(yes.Load()), int(no.Load())
}

// limited contains functions that return Options with a Limiter, which is
// either Options.Limiter or that of a politeness.Transport inside Base.
var limited = map[string]func(web http.RoundTripper, l *politeness.Limiter) Options{
	"Limiter": func(web http.RoundTripper, l *politeness.Limiter) Options {
		return Options{Base: web, Limiter: l}
	},
	"Base": func(web http.RoundTripper, l *politeness.Limiter) Options {
		return Options{Base: wrapping{&politeness.Transport{Base: web, Limiter: l}}}
	},
}

// A wrapping wraps the errors of base, as a user's retries or cache may do.
type wrapping struct{ base http.RoundTripper }

func (w wrapping) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("wrapped: %w", err)
	}
	return resp, nil
}

func newLimitedClient(t *testing.T, opts Options) *http.Client {
	t.Helper()
	opts.UserAgent = "ExampleBot/1.0"
	tr, err := NewTransport(opts)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: tr}
}

// sentAfter returns how many pages were requested after the time at which they
// became forbidden, and when each robots.txt was fetched, relative to since.
func sentAfter(web *robotstest.Internet, since, forbidden time.Time) (late int, files []time.Duration) {
	for _, r := range web.Log() {
		switch {
		case strings.HasSuffix(r.URL, "/robots.txt"):
			files = append(files, r.Time.Sub(since))
		case r.Time.After(forbidden):
			late++
		}
	}
	return late, files
}

// 390 requests wait for one host. When a file with "Disallow: /" has been
// fetched, no more of them are sent, and all of them fail immediately.
func TestJudgedAgain_WhenAnotherFileForbids(t *testing.T) {
	for name, opts := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, file := webWithExpiringFile()
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				start := time.Now()
				time.AfterFunc(100*time.Second, func() { file.set(robots(shut)) })
				answered, refused := getPages(t, client, "a.example", 390)
				late, files := sentAfter(web, start, start.Add(242*time.Second))
				if late != 0 || answered+refused != 390 || refused < 140 {
					t.Errorf("%d requests were answered, %d disallowed, and %d sent too late; robots.txt was fetched at %v; want none late, and at least 140 disallowed",
						answered, refused, late, files)
				}
				if took := time.Since(start); took > 245*time.Second {
					t.Errorf("the last request was disallowed after %v, want at most 245s", took)
				}
				// After four fifths of 300 s, the file is fetched before the
				// pages.
				if len(files) != 2 || files[1] > 242*time.Second {
					t.Errorf("robots.txt was fetched at %v, want twice, the second time within 242s", files)
				}
			})
		})
	}
}

// An asynchronous crawl requests 3,000 pages at once. Their robots.txt is fresh
// for five minutes and changes every ten. The last change disallows them.
func TestJudgedAgain_LongCrawl(t *testing.T) {
	for name, opts := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lifetime = 300 * time.Second
				web := new(robotstest.Internet)
				file := new(switchable)
				start := time.Now()
				for i, text := range []string{open, open + "Disallow: /other/\n", open + "Disallow: /more/\n", shut} {
					set := func() { file.set(robots(text, "Cache-Control: max-age=300")) }
					if i == 0 {
						set()
						continue
					}
					time.AfterFunc(time.Duration(i)*10*time.Minute, set)
				}
				web.Handle("a.example", newSite(file, status(200)))
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				answered, refused := getPages(t, client, "a.example", 3000)
				took := time.Since(start)

				_, files := sentAfter(web, start, start)
				read := files[len(files)-1] // the first file that forbids the pages
				late, _ := sentAfter(web, start, start.Add(read))
				if late != 0 || answered+refused != 3000 || refused < 1000 {
					t.Errorf("%d requests were answered, %d disallowed, and %d sent too late; want none late, and at least 1000 disallowed",
						answered, refused, late)
				}
				for i := 1; i < len(files); i++ {
					if files[i]-files[i-1] > lifetime+10*time.Second {
						t.Errorf("robots.txt was fetched at %v, want at least once in each lifetime", files)
						break
					}
				}
				if read < 30*time.Minute || read > 30*time.Minute+lifetime+10*time.Second || took > read+10*time.Second {
					t.Errorf("the last file was fetched at %v, and the last page disallowed at %v; want the file within a lifetime after 30m, and the page 10s later at most",
						read, took)
				}
			})
		})
	}
}

// Requests wait for a day because of a Retry-After. By then, the file that
// allowed them has expired, and is fetched before they are sent.
func TestJudgedAgain_AfterADay(t *testing.T) {
	for name, opts := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				file, page := new(switchable), new(switchable)
				file.set(robots(open, "Cache-Control: max-age=86400"))
				page.set(status(429, "Retry-After: 86400"))
				web.Handle("a.example", newSite(file, page))
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				start := time.Now()
				getPages(t, client, "a.example", 1)
				file.set(robots(shut))
				if answered, refused := getPages(t, client, "a.example", 20); refused != 20 {
					t.Errorf("%d requests were answered and %d disallowed, want all 20 disallowed; requests: %s",
						answered, refused, starts(web, start))
				}
			})
		})
	}
}

// A request with a body is sent after the file was fetched again only if
// GetBody is set.
func TestJudgedAgain_Body(t *testing.T) {
	for _, again := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			var got string
			page := new(switchable)
			page.set(status(429, "Retry-After: 86400"))
			web.Handle("a.example", newSite(robots(open, "Cache-Control: max-age=300"), page))
			client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
			getPages(t, client, "a.example", 1)
			page.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got += string(b)
			}))
			body := io.Reader(strings.NewReader("the form"))
			if !again {
				body = io.MultiReader(body)
			}
			resp, err := client.Post("http://a.example/form", "text/plain", body)
			isGetBodyError := err != nil && strings.Contains(err.Error(), "GetBody")
			switch {
			case again && (err != nil || got != "the form"):
				t.Errorf("the server received %q (error %v), want the form", got, err)
			case !again && (!isGetBodyError || got != ""):
				t.Errorf("the server received %q (error %v), want nothing, and an error about GetBody", got, err)
			}
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}

// An expired file stays in force while it cannot be fetched again.
func TestJudgedAgain_StaleCopyStaysInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, file := webWithExpiringFile()
		client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
		time.AfterFunc(time.Second, func() { file.set(status(500)) })
		if answered, refused := getPages(t, client, "a.example", 1000); answered != 1000 {
			t.Errorf("%d requests were answered and %d disallowed, want all 1000 answered", answered, refused)
		}
	})
}

// If a newer file has a Crawl-delay, the requests that already wait obey it.
func TestJudgedAgain_CrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, file := webWithExpiringFile()
		client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
		start := time.Now()
		time.AfterFunc(time.Second, func() { file.set(robots(open+"Crawl-delay: 10\n", "Cache-Control: max-age=300")) })
		if answered, _ := getPages(t, client, "a.example", 300); answered != 300 {
			t.Errorf("%d requests were answered, want 300", answered)
		}
		last := start
		for _, r := range web.Log() {
			if r.Time.Sub(start) > 245*time.Second && !strings.HasSuffix(r.URL, "/robots.txt") {
				if gap := r.Time.Sub(last); gap < 10*time.Second {
					t.Fatalf("%s was sent %v after the page before it, want at least 10s", r.URL, gap)
				}
			}
			if !strings.HasSuffix(r.URL, "/robots.txt") {
				last = r.Time
			}
		}
	})
}

// The decision that a Limiter's Observer finds is the one by which the request
// is sent. If a request is disallowed only when the host is due, Decided is
// called as for any other request.
func TestJudgedAgain_Observers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, file := webWithExpiringFile()
		start := time.Now()
		var mu sync.Mutex
		forbidden, second := 0, 0
		client := newLimitedClient(t, Options{
			Base: web,
			Observer: &Observer{Decided: func(_ context.Context, d Decision) {
				mu.Lock()
				defer mu.Unlock()
				if !d.Allowed {
					forbidden++
				}
			}},
			Limiter: &politeness.Limiter{Observer: &politeness.Observer{Granted: func(ctx context.Context, e politeness.Event) {
				mu.Lock()
				defer mu.Unlock()
				if d := DecisionOf(ctx); d != nil && d.Fetched.After(start.Add(time.Minute)) {
					second++
				}
			}}},
		})
		time.AfterFunc(time.Second,
			func() { file.set(robots("User-agent: *\nDisallow: /other\n", "Cache-Control: max-age=300")) })
		time.AfterFunc(300*time.Second, func() { file.set(robots(shut, "Cache-Control: max-age=300")) })
		answered, refused := getPages(t, client, "a.example", 600)
		if answered+refused != 600 || forbidden != refused || second < 200 {
			t.Errorf("%d requests were answered, %d disallowed, %d reported as disallowed, and %d sent by the second file; want each disallowed one reported, and at least 200 by the second file",
				answered, refused, forbidden, second)
		}
	})
}

// The interval of a host is longer than the lifetime of its robots.txt. Pages
// are requested nevertheless, by the file that was fetched for the page.
func TestJudgedAgain_IntervalLongerThanTheFileLasts(t *testing.T) {
	for name, tt := range map[string]struct {
		delay  time.Duration
		fields map[string]string
	}{
		"a long Delay": {6 * time.Minute, map[string]string{"Cache-Control": "no-cache"}},
		"a quota beside robots.txt": {0,
			map[string]string{"Cache-Control": "no-cache", "RateLimit": `"d";r=0;t=400`}},
		"the default pace, for contrast": {0, map[string]string{"Cache-Control": "no-cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files, pages := 0, 0
				var web robotstest.Internet
				web.Handle("shop.example", newSite(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					files++
					for name, value := range tt.fields {
						w.Header().Set(name, value)
					}
					io.WriteString(w, open)
				}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pages++ })))
				client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web,
					Limiter: &politeness.Limiter{Delay: tt.delay}})
				if err != nil {
					t.Fatal(err)
				}
				if answered, _ := getPages(t, client, "shop.example", 2); answered != 2 || pages != 2 {
					t.Errorf("%d requests were answered, and %d pages were sent; want 2 and 2", answered, pages)
				}
				if files > 7 {
					t.Errorf("robots.txt was fetched %d times, want at most 7", files)
				}
				time.Sleep(time.Hour) // a refresh may wait
			})
		})
	}
}

// A caller that does not wait retries when the host is due. The file that was
// fetched at the first try is then still in force.
func TestCallersThatComeBackOutlastTheFile(t *testing.T) {
	for name, tt := range map[string]struct {
		limiter *politeness.Limiter
		file    string
	}{
		"a long Delay":       {&politeness.Limiter{Delay: 10 * time.Minute}, open},
		"a long Crawl-delay": {&politeness.Limiter{}, open + "Crawl-delay: 3600\n"},
		"a long Crawl-delay without MaxCrawlDelay": {&politeness.Limiter{MaxCrawlDelay: -1},
			open + "Crawl-delay: 3600\n"},
		"no file": {&politeness.Limiter{Delay: 10 * time.Minute}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := 0
				var web robotstest.Internet
				web.Handle("shop.example", newSite(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					files++
					w.Header().Set("Cache-Control", "no-cache")
					if tt.file == "" {
						w.WriteHeader(http.StatusNotFound)
					}
					io.WriteString(w, tt.file)
				}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
				tt.limiter.MaxWait = -1
				client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web, Limiter: tt.limiter})
				if err != nil {
					t.Fatal(err)
				}
				for page := range 4 {
					for tries := 1; ; tries++ {
						resp, err := client.Get(fmt.Sprintf("http://shop.example/%d", page))
						if err == nil {
							resp.Body.Close()
							break
						}
						delay, ok := errors.AsType[*politeness.DelayError](err)
						if !ok || tries == 5 {
							t.Fatalf("page %d, try %d, after %d fetches of robots.txt: got error %v, want a DelayError or, by the fifth try, none",
								page, tries, files, err)
						}
						time.Sleep(time.Until(delay.Until))
					}
				}
				if files > 5 {
					t.Errorf("robots.txt was fetched %d times, want at most 5", files)
				}
				time.Sleep(time.Hour) // a refresh may wait
			})
		})
	}
}

// Memory has room for one origin. While pages of shop.example wait, a page of
// other.example is requested twice. The file of shop.example stays in memory:
// it is fetched once, and no page returns to the end of the queue.
func TestJudgedAgain_NotEvictedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/robots.txt": open})
		web.Handle("other.example", robotstest.Site{"/robots.txt": open})
		client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web, MaxOrigins: 1})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, after := range []time.Duration{5500 * time.Millisecond, 7500 * time.Millisecond} {
			time.AfterFunc(after, func() { client.Get("http://other.example/private/") })
		}
		answered, _ := getPages(t, client, "shop.example", 20)
		if took := time.Since(start); answered != 20 || took > 21*time.Second {
			t.Errorf("%d pages were answered after %v, want 20 within 21s", answered, took)
		}
		if n := robotsFetches(&web, "shop.example"); n != 1 {
			t.Errorf("robots.txt was fetched %d times, want once", n)
		}
	})
}

// A Base that returns neither a response nor an error violates the contract of
// http.RoundTripper. RoundTrip returns an error.
func TestBaseReturnsNothing(t *testing.T) {
	nothing := roundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, nil })
	tr, err := NewTransport(Options{UserAgent: "ExampleBot/1.0", Base: nothing,
		Override: map[string]string{"http://shop.example": ""}})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("GET", "http://shop.example/", nil)
	if resp, err := tr.RoundTrip(req); err == nil {
		t.Errorf("got %v and no error, want an error", resp)
	}
}

// A program may put the politeness.Transport below an http.Transport. Its
// requests are also checked again after their wait.
func TestJudgedAgain_BelowAnHTTPTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var pages, files atomic.Int32
		web.Handle("shop.example", newSite(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			if files.Add(1) == 1 {
				io.WriteString(w, open)
			} else {
				io.WriteString(w, shut)
			}
		}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pages.Add(1) })))
		base := new(http.Transport)
		base.RegisterProtocol("http",
			&politeness.Transport{Base: &web, Limiter: &politeness.Limiter{Delay: 10 * time.Minute}})
		robots, err := NewTransport(Options{UserAgent: "ExampleBot/1.0", Base: base})
		if err != nil {
			t.Fatal(err)
		}
		if answered, refused := getPages(t, &http.Client{Transport: robots}, "shop.example", 2); answered != 0 || refused != 2 || pages.Load() != 0 {
			t.Errorf("%d requests were answered, %d disallowed, and %d sent; want 2 disallowed, and none sent",
				answered, refused, pages.Load())
		}
	})
}

// A request that follows a redirect may have to wait for a robots.txt, whatever
// MaxWait is. It stops waiting when its context ends.
func TestRedirectWaitsForRobotsTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("rests.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		toPaused := http.RedirectHandler("http://rests.example/robots.txt", http.StatusFound)
		web.Handle("new.example", newSite(toPaused, robotstest.Site{"/": ""}))
		web.Handle("old.example",
			newSite(http.NotFoundHandler(), http.RedirectHandler("http://new.example/", http.StatusFound)))
		client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web,
			Limiter: &politeness.Limiter{Delay: -1, MaxWait: -1}})
		if err != nil {
			t.Fatal(err)
		}
		client.Get("http://rests.example/")
		get := func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			req, err := http.NewRequestWithContext(ctx, "GET", "http://old.example/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return time.Since(start), err
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, cancel)
		time.Sleep(time.Second)
		if took, err := get(ctx); !errors.Is(err, context.Canceled) || took != 1500*time.Millisecond {
			t.Errorf("after %v: got error %v, want Canceled after 1.5s", took, err)
		}
		time.Sleep(time.Second)
		if _, err := get(t.Context()); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("new.example, whose robots.txt is unreachable: got error %v, want one that is not Canceled", err)
		}
		time.Sleep(48 * time.Hour)
	})
}

// The record that an origin has no robots.txt expires like a file. If the
// record has expired before a request starts, and robots.txt is unreachable,
// the request is disallowed.
func TestJudgedAgain_UnavailableRunsOut(t *testing.T) {
	for name, options := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				file := new(switchable)
				file.set(status(404, "Cache-Control: max-age=400"))
				web.Handle("a.example", newSite(file, robotstest.Site{"/1": "", "/2": ""}))
				opts := options(&web, &politeness.Limiter{Delay: 20 * time.Second})
				opts.UserAgent, opts.Logger = testAgent, slog.New(slog.DiscardHandler)
				tr, err := NewTransport(opts)
				if err != nil {
					t.Fatal(err)
				}
				client := &http.Client{Transport: tr}
				get := func() error {
					resp, err := client.Get("http://a.example/1")
					if err == nil {
						resp.Body.Close()
					}
					return err
				}
				if err := get(); err != nil {
					t.Fatal(err)
				}
				file.set(robotstest.Reset(""))
				time.Sleep(325 * time.Second)
				if err := get(); err != nil { // this begins a refresh
					t.Fatal(err)
				}
				time.Sleep(21 * time.Second) // the refresh has failed
				errs := make(chan error, 2)
				for range 2 {
					go func() { errs <- get() }()
				}
				if first, second := <-errs, <-errs; first != nil || !errors.Is(second, ErrUnreachable) {
					t.Errorf("the two requests returned errors %v and %v, want none and ErrUnreachable", first, second)
				}
			})
		})
	}
}

// The context of a response contains the decision about its request. If another
// request uses that context, the decision has no effect on the other request.
func TestContextOfAnEarlierResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		file := new(switchable)
		file.set(robots("User-agent: *\nCrawl-delay: 7\n"))
		web.Handle("a.example", file)
		web.Handle("b.example", robots(open))
		var received []any
		base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "b.example" && r.Header.Get("Accept") == "" { // not the fetch of robots.txt
				received = append(received, r.Context().Value(politeness.CrawlDelayKey{}))
			}
			return web.RoundTrip(r)
		})
		client, err := NewClient(Options{UserAgent: testAgent, Base: base, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		get := func(ctx context.Context, url string) *http.Response {
			t.Helper()
			req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp
		}
		earlier := get(t.Context(), "http://a.example/1").Request.Context()
		get(earlier, "http://b.example/robots.txt")
		if len(received) != 1 || received[0] != nil {
			t.Errorf("the Limiter received the Crawl-delays %v, want one value, nil", received)
		}
		for _, text := range []string{shut, "User-agent: *\nDisallow: /1\n", open} {
			file.set(robots(text))
			time.Sleep(25 * time.Hour)
			get(earlier, "http://b.example/2") // the file of a.example has expired
			if text != shut {
				get(earlier, "http://a.example/2") // whether or not its file now disallows /1
			}
		}
	})
}
