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

func siteOf(file, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", file)
	mux.Handle("/", page)
	return mux
}

// webWithExpiringFile has a site whose robots.txt allows everything and expires
// after five minutes. file replaces it.
func webWithExpiringFile() (web *robotstest.Internet, file *switchable) {
	web = new(robotstest.Internet)
	file = new(switchable)
	file.set(robots(open, "Cache-Control: max-age=300"))
	web.Handle("a.example", siteOf(file, status(200)))
	return web, file
}

// visits sends n requests at once, for /1, /2 and so on, and returns when all
// are over. It counts the answers and the refusals by robots.txt.
func visits(t *testing.T, client *http.Client, host string, n int) (answered, refused int) {
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
					t.Errorf("the error does not name the rule: %v", err)
				}
				no.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return int(yes.Load()), int(no.Load())
}

// A permission may go through a Limiter that is the Transport's own, or in a
// transport of the user's below it.
var limited = map[string]func(web http.RoundTripper, l *politeness.Limiter) Options{
	"Limiter": func(web http.RoundTripper, l *politeness.Limiter) Options {
		return Options{Base: web, Limiter: l}
	},
	"Base": func(web http.RoundTripper, l *politeness.Limiter) Options {
		return Options{Base: wrapping{&politeness.Transport{Base: web, Limiter: l}}}
	},
}

// wrapping stands for a user's retries or cache.
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

// sentAfter returns how many pages were sent after the file that forbids them
// was read, and after how long each robots.txt was fetched.
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

// 390 requests wait for one host. When "Disallow: /" has been read, none of
// them is sent any more, and all are refused at once.
func TestJudgedAgain_WhenAnotherFileForbids(t *testing.T) {
	for name, opts := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, file := webWithExpiringFile()
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				start := time.Now()
				time.AfterFunc(100*time.Second, func() { file.set(robots(shut)) })
				answered, refused := visits(t, client, "a.example", 390)
				late, files := sentAfter(web, start, start.Add(242*time.Second))
				if late != 0 || answered+refused != 390 || refused < 140 {
					t.Errorf("%d answered, %d refused, %d sent too late; robots.txt at %v", answered, refused, late, files)
				}
				if took := time.Since(start); took > 245*time.Second {
					t.Errorf("the last was refused after %v", took)
				}
				// After four fifths of 300 s the file goes before the pages.
				if len(files) != 2 || files[1] > 242*time.Second {
					t.Errorf("robots.txt was fetched at %v", files)
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
				web.Handle("a.example", siteOf(file, status(200)))
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				answered, refused := visits(t, client, "a.example", 3000)
				took := time.Since(start)

				_, files := sentAfter(web, start, start)
				read := files[len(files)-1] // the first file that forbids the pages
				late, _ := sentAfter(web, start, start.Add(read))
				if late != 0 || answered+refused != 3000 || refused < 1000 {
					t.Errorf("%d answered, %d refused, %d sent too late", answered, refused, late)
				}
				for i := 1; i < len(files); i++ {
					if files[i]-files[i-1] > lifetime+10*time.Second {
						t.Errorf("robots.txt was read at %v", files)
						break
					}
				}
				if read < 30*time.Minute || read > 30*time.Minute+lifetime+10*time.Second || took > read+10*time.Second {
					t.Errorf("the last file was read at %v, and the last page was refused at %v", read, took)
				}
			})
		})
	}
}

// Requests wait for a day because of a Retry-After. Then the file by which they
// were allowed has run out, and is fetched before them.
func TestJudgedAgain_AfterADay(t *testing.T) {
	for name, opts := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				file, page := new(switchable), new(switchable)
				file.set(robots(open, "Cache-Control: max-age=86400"))
				page.set(status(429, "Retry-After: 86400"))
				web.Handle("a.example", siteOf(file, page))
				client := newLimitedClient(t, opts(web, &politeness.Limiter{}))
				start := time.Now()
				visits(t, client, "a.example", 1)
				file.set(robots(shut))
				if answered, refused := visits(t, client, "a.example", 20); refused != 20 {
					t.Errorf("%d answered, %d refused: %s", answered, refused, starts(web, start))
				}
			})
		})
	}
}

// A request with a body is sent after the file was fetched again, if the body
// can be read again.
func TestJudgedAgain_Body(t *testing.T) {
	for _, again := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			var got string
			page := new(switchable)
			page.set(status(429, "Retry-After: 86400"))
			web.Handle("a.example", siteOf(robots(open, "Cache-Control: max-age=300"), page))
			client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
			visits(t, client, "a.example", 1)
			page.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got += string(b)
			}))
			body := io.Reader(strings.NewReader("the form"))
			if !again {
				body = io.MultiReader(body)
			}
			resp, err := client.Post("http://a.example/form", "text/plain", body)
			switch {
			case again && (err != nil || got != "the form"):
				t.Errorf("the server got %q: %v", got, err)
			case !again && (err == nil || got != "" || !strings.Contains(err.Error(), "GetBody")):
				t.Errorf("the server got %q: %v", got, err)
			}
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}

// As long as a file that has run out cannot be had again, it stays in force.
func TestJudgedAgain_StaleCopyStaysInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, file := webWithExpiringFile()
		client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
		time.AfterFunc(time.Second, func() { file.set(status(500)) })
		if answered, refused := visits(t, client, "a.example", 1000); answered != 1000 {
			t.Errorf("%d answered, %d refused", answered, refused)
		}
	})
}

// A Crawl-delay that comes with another file is kept by those who wait already.
func TestJudgedAgain_CrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, file := webWithExpiringFile()
		client := newLimitedClient(t, Options{Base: web, Limiter: &politeness.Limiter{}})
		start := time.Now()
		time.AfterFunc(time.Second, func() { file.set(robots(open+"Crawl-delay: 10\n", "Cache-Control: max-age=300")) })
		if answered, _ := visits(t, client, "a.example", 300); answered != 300 {
			t.Errorf("%d answered", answered)
		}
		last := start
		for _, r := range web.Log() {
			if r.Time.Sub(start) > 245*time.Second && !strings.HasSuffix(r.URL, "/robots.txt") {
				if gap := r.Time.Sub(last); gap < 10*time.Second {
					t.Fatalf("%s was sent %v after the page before it", r.URL, gap)
				}
			}
			if !strings.HasSuffix(r.URL, "/robots.txt") {
				last = r.Time
			}
		}
	})
}

// The decision that a Limiter's Observer finds is the one by which the request
// is sent, and a refusal at the last moment is reported as any other.
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
		time.AfterFunc(time.Second, func() { file.set(robots("User-agent: *\nDisallow: /other\n", "Cache-Control: max-age=300")) })
		time.AfterFunc(300*time.Second, func() { file.set(robots(shut, "Cache-Control: max-age=300")) })
		answered, refused := visits(t, client, "a.example", 600)
		if answered+refused != 600 || forbidden != refused || second < 200 {
			t.Errorf("%d answered, %d refused, %d reported, %d sent by the second file", answered, refused, forbidden, second)
		}
	})
}

// The interval of a host is longer than the lifetime of its robots.txt. Pages
// are requested nevertheless: the file that was read for the page decides.
func TestJudgedAgain_IntervalLongerThanTheFileLasts(t *testing.T) {
	for name, tt := range map[string]struct {
		delay  time.Duration
		fields map[string]string
	}{
		"a long Delay":                   {6 * time.Minute, map[string]string{"Cache-Control": "no-cache"}},
		"a quota beside robots.txt":      {0, map[string]string{"Cache-Control": "no-cache", "RateLimit": `"d";r=0;t=400`}},
		"the default pace, for contrast": {0, map[string]string{"Cache-Control": "no-cache"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files, pages := 0, 0
				var web robotstest.Internet
				web.Handle("shop.example", siteOf(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					files++
					for name, value := range tt.fields {
						w.Header().Set(name, value)
					}
					io.WriteString(w, open)
				}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pages++ })))
				client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web, Limiter: &politeness.Limiter{Delay: tt.delay}})
				if err != nil {
					t.Fatal(err)
				}
				if answered, _ := visits(t, client, "shop.example", 2); answered != 2 || pages != 2 {
					t.Errorf("%d pages came, %d were sent", answered, pages)
				}
				if files > 7 {
					t.Errorf("robots.txt was fetched %d times", files)
				}
				time.Sleep(time.Hour) // a refresh may wait
			})
		})
	}
}

// A caller that never waits comes back when the host is due. The file that was
// read when it came first is still in force then.
func TestCallersThatComeBackOutlastTheFile(t *testing.T) {
	for name, tt := range map[string]struct {
		limiter *politeness.Limiter
		file    string
	}{
		"a long Delay":           {&politeness.Limiter{Delay: 10 * time.Minute}, open},
		"a long Crawl-delay":     {&politeness.Limiter{}, open + "Crawl-delay: 3600\n"},
		"one that may be waited": {&politeness.Limiter{MaxCrawlDelay: -1}, open + "Crawl-delay: 3600\n"},
		"no file":                {&politeness.Limiter{Delay: 10 * time.Minute}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := 0
				var web robotstest.Internet
				web.Handle("shop.example", siteOf(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
							t.Fatalf("page %d, try %d, with %d fetches of robots.txt: %v", page, tries, files, err)
						}
						time.Sleep(time.Until(delay.Until))
					}
				}
				if files > 5 {
					t.Errorf("robots.txt was fetched %d times", files)
				}
				time.Sleep(time.Hour) // a refresh may wait
			})
		})
	}
}

// Memory has room for one origin. While pages of shop.example wait, a page of
// other.example is requested twice. The file of shop.example stays in memory:
// it is fetched once, and no page waits again behind the others.
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
		answered, _ := visits(t, client, "shop.example", 20)
		if took := time.Since(start); answered != 20 || took > 21*time.Second {
			t.Errorf("%d pages were answered, after %v", answered, took)
		}
		if n := robotsFetches(&web, "shop.example"); n != 1 {
			t.Errorf("robots.txt was fetched %d times", n)
		}
	})
}

// A Base that answers with nothing breaks the contract of a RoundTripper.
func TestBaseReturnsNothing(t *testing.T) {
	nothing := roundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, nil })
	tr, err := NewTransport(Options{UserAgent: "ExampleBot/1.0", Base: nothing, Override: map[string]string{"http://shop.example": ""}})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("GET", "http://shop.example/", nil)
	if resp, err := tr.RoundTrip(req); err == nil {
		t.Errorf("got %v and no error", resp)
	}
}

// A program may put the politeness.Transport below an http.Transport.
func TestJudgedAgain_BelowAnHTTPTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var pages, files atomic.Int32
		web.Handle("shop.example", siteOf(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			if files.Add(1) == 1 {
				io.WriteString(w, open)
			} else {
				io.WriteString(w, shut)
			}
		}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pages.Add(1) })))
		base := new(http.Transport)
		base.RegisterProtocol("http", &politeness.Transport{Base: &web, Limiter: &politeness.Limiter{Delay: 10 * time.Minute}})
		robots, err := NewTransport(Options{UserAgent: "ExampleBot/1.0", Base: base})
		if err != nil {
			t.Fatal(err)
		}
		if answered, refused := visits(t, &http.Client{Transport: robots}, "shop.example", 2); answered != 0 || refused != 2 || pages.Load() != 0 {
			t.Errorf("%d answered, %d refused, %d sent", answered, refused, pages.Load())
		}
	})
}

// A request that follows a redirect may have to wait for a robots.txt, whatever
// MaxWait is. It does not wait for longer than its caller.
func TestRedirectWaitsForRobotsTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("rests.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		web.Handle("new.example", siteOf(http.RedirectHandler("http://rests.example/robots.txt", http.StatusFound), robotstest.Site{"/": ""}))
		web.Handle("old.example", siteOf(http.NotFoundHandler(), http.RedirectHandler("http://new.example/", http.StatusFound)))
		client, err := NewClient(Options{UserAgent: "ExampleBot/1.0", Base: &web, Limiter: &politeness.Limiter{Delay: -1, MaxWait: -1}})
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
			t.Errorf("after %v: %v", took, err)
		}
		time.Sleep(time.Second)
		if _, err := get(t.Context()); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("new.example, whose robots.txt is unreachable: %v", err)
		}
		time.Sleep(48 * time.Hour)
	})
}

// That there is no robots.txt is known for a while only. If that is over before
// a request starts, and the file cannot be had again, the request is refused.
func TestJudgedAgain_UnavailableRunsOut(t *testing.T) {
	for name, options := range limited {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				file := new(switchable)
				file.set(status(404, "Cache-Control: max-age=400"))
				web.Handle("a.example", siteOf(file, robotstest.Site{"/1": "", "/2": ""}))
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
					t.Errorf("%v and %v, want a page and a refusal", first, second)
				}
			})
		})
	}
}

// The context of a response has what its request was judged by. If another
// request gets that context, only what is known of its own URL counts.
func TestContextOfAnEarlierResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		file := new(switchable)
		file.set(robots("User-agent: *\nCrawl-delay: 7\n"))
		web.Handle("a.example", file)
		web.Handle("b.example", robots(open))
		var told []any
		base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "b.example" && r.Header.Get("Accept") == "" { // not the fetch of robots.txt
				told = append(told, r.Context().Value(politeness.CrawlDelayKey{}))
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
		if len(told) != 1 || told[0] != nil {
			t.Errorf("the Limiter was told %v, the Crawl-delay of another host", told)
		}
		for _, text := range []string{shut, "User-agent: *\nDisallow: /1\n", open} {
			file.set(robots(text))
			time.Sleep(25 * time.Hour)
			get(earlier, "http://b.example/2") // the file of a.example has run out
			if text != shut {
				get(earlier, "http://a.example/2") // whatever its rule for /1 now is
			}
		}
	})
}
