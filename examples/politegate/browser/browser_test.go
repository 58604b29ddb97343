package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/gate"
)

const agent = "TestBot/1.0 (+https://example.com/bot)"

// A site writes down what it is asked for.
type site struct {
	*httptest.Server
	mu  sync.Mutex
	log []request
}

type request struct {
	at                  time.Time
	method, path, agent string
}

func newSite(t *testing.T, pages http.HandlerFunc) *site {
	s := new(site)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, request{time.Now(), r.Method, r.URL.RequestURI(), r.UserAgent()})
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: TestBot\nDisallow: /private\nDisallow: /*/private\n")
			return
		}
		pages(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the log so far.
func (s *site) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// paths returns the log's paths, and fails if the site was asked for one that
// is disallowed.
func (s *site) paths(t *testing.T) (paths []string) {
	t.Helper()
	for _, r := range s.requests() {
		if strings.Contains(r.path, "private") {
			t.Errorf("DISALLOWED: %s %s by %s", r.method, r.path, r.agent)
		}
		paths = append(paths, r.path)
	}
	return paths
}

// newGate starts a gate. The options are those that a Go client shares with it.
func newGate(t *testing.T, delay time.Duration) (string, robotsmw.Options) {
	t.Helper()
	store, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opts := robotsmw.Options{
		UserAgent: agent, Store: store, Limiter: &politeness.Limiter{Delay: delay, Lease: time.Minute},
		RefuseAddress: func(netip.Addr) error { return nil },
	}
	h, err := gate.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL, opts
}

// openBrowser starts a Chromium that asks the gate. Without one, the test is
// skipped. refusals returns what the browser did not request.
func openBrowser(t *testing.T, gate string, subresources bool) (ctx context.Context, refusals func() []string) {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("SKIPPED: no chromium in the path: the browser's guard is not tested (apt-get install chromium)")
	}
	var mu sync.Mutex
	var refused []string
	g := &guard{gate: gate, subresources: subresources, refused: func(url string, v verdict, err error) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, fmt.Sprint(url, " ", v.Reason, " ", v.Rule, v.Error, " ", err))
	}}
	ctx, cancel, err := open(t.Context(), agent, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(refused)
	}
}

// settle waits until the site has been asked for nothing for two seconds.
func (s *site) settle() {
	for last := -1; last != len(s.requests()); time.Sleep(2 * time.Second) {
		last = len(s.requests())
	}
}

const everything = `<title>All</title>
<link rel=stylesheet href=/style.css><img src=/image.png><script src=/script.js></script>
<link rel=prefetch href=/private/prefetched><link rel=prerender href=/private/prerendered>
<script type=speculationrules>{
	"prerender": [{"source": "list", "urls": ["/private/speculated"], "eagerness": "immediate"}],
	"prefetch": [{"source": "list", "urls": ["/private/speculated2"], "eagerness": "immediate"}]
}</script>
<iframe src=/frame></iframe> <iframe src=/private/frame></iframe> <iframe src=/hop></iframe>
<iframe src="http://localhost:PORT/frame?elsewhere"></iframe> <iframe src="http://localhost:PORT/private/elsewhere"></iframe>
<iframe srcdoc="<iframe src=/private/srcdoc></iframe>"></iframe>
<object data=/private/object></object> <embed src=/private/embed>
<form id=form method=post target=_blank action=/private/form></form>
<a id=link target=_blank rel=noopener href=/private/link>
<a id=download download href=/private/download>
<script>
	open('/popup'); open('/private/popup'); open('/popup-that-opens');
	form.submit(); link.click(); download.click();
	navigator.serviceWorker.register('/worker.js').then(() => fetch('/private/by-worker'), () => fetch('/no-worker'));
	const blank = open('about:blank'); blank.location = '/private/later';
	const blob = document.body.appendChild(document.createElement('iframe'));
	blob.src = URL.createObjectURL(new Blob(['<iframe src="' + location.origin + '/private/blob"></iframe>'], {type: 'text/html'}));
</script>`

func pages(w http.ResponseWriter, r *http.Request) {
	_, port, _ := strings.Cut(r.Host, ":")
	switch r.URL.Path {
	case "/":
		io.WriteString(w, strings.ReplaceAll(everything, "PORT", port))
	case "/hop":
		http.Redirect(w, r, "/hop2", http.StatusFound)
	case "/hop2":
		http.Redirect(w, r, "/private/hop3", http.StatusMovedPermanently)
	case "/popup-that-opens":
		io.WriteString(w, "<script>open('/private/opened')</script><iframe src=/private/in-popup></iframe>")
	case "/refresh":
		io.WriteString(w, `<meta http-equiv=refresh content="0;url=/private/refreshed">`)
	case "/worker.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, "onfetch = e => e.respondWith(fetch('/private/worker'))")
	case "/scripted":
		io.WriteString(w, `<title>Scripted</title><script>
			const m = document.createElement('meta'); m.name = 'robots'; m.content = 'noindex'; document.head.append(m);
		</script>`)
	case "/tagged":
		w.Header().Add("X-Robots-Tag", "otherbot: nofollow")
		w.Header().Add("X-Robots-Tag", "testbot: noindex")
	default:
		io.WriteString(w, "<title>"+r.URL.Path+"</title>")
	}
}

// What a page makes Chromium ask for: frames, popups, hops, forms, downloads,
// service workers, prefetches. Nothing that is disallowed reaches the site.
func TestDisallowedIsNeverRequested(t *testing.T) {
	t.Parallel()
	for _, subresources := range []bool{false, true} {
		t.Run(fmt.Sprintf("subresources=%t", subresources), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, pages)
			gate, _ := newGate(t, 10*time.Millisecond)
			ctx, refusals := openBrowser(t, gate, subresources)
			if _, err := visit(ctx, agent, s.URL+"/"); err != nil {
				t.Fatal(err)
			}
			// The page is read before or after it is left.
			if _, err := visit(ctx, agent, s.URL+"/refresh"); err != nil && !errors.Is(err, errLeft) {
				t.Fatal(err)
			}
			refreshed := time.Now()
			// The next visit would end a refresh that has not begun.
			for !strings.Contains(strings.Join(refusals(), "\n"), "/private/refreshed") {
				if time.Since(refreshed) > time.Minute {
					t.Fatal("/private/refreshed was neither requested nor refused")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := visit(ctx, agent, s.URL+"/private"); err == nil || !strings.Contains(err.Error(), "BLOCKED_BY_CLIENT") {
				t.Errorf("a disallowed page: %v", err)
			}
			s.settle()
			asked := s.paths(t)
			for _, path := range []string{"/", "/frame", "/frame?elsewhere", "/hop", "/hop2", "/popup", "/popup-that-opens", "/refresh", "/script.js", "/no-worker"} {
				if !slices.Contains(asked, path) {
					t.Errorf("%s was not requested, which is allowed", path)
				}
			}
			told := strings.Join(refusals(), "\n")
			for _, path := range []string{"/private/frame", "/private/elsewhere", "/private/hop3", "/private/srcdoc", "/private/object", "/private/embed", "/private/form",
				"/private/link", "/private/download", "/private/popup", "/private/opened", "/private/in-popup", "/private/later", "/private/blob", "/private/refreshed", "/private ", "/worker.js", "/private/prefetched"} {
				if !strings.Contains(told, path) {
					t.Errorf("%s was not refused", path)
				}
			}
			if t.Failed() {
				t.Logf("asked for %q\nrefused:\n%s", asked, told)
			}
		})
	}
}

// Subresources are not judged unless that is asked for.
func TestSubresources(t *testing.T) {
	t.Parallel()
	for _, subresources := range []bool{false, true} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<img src=/private.png><script>fetch('/private.json'); new Worker('/private.js')</script>")
		})
		gate, _ := newGate(t, 10*time.Millisecond)
		ctx, _ := openBrowser(t, gate, subresources)
		if _, err := visit(ctx, agent, s.URL+"/"); err != nil {
			t.Fatal(err)
		}
		s.settle()
		for _, path := range []string{"/private.png", "/private.json", "/private.js"} {
			if asked := slices.ContainsFunc(s.requests(), func(r request) bool { return r.path == path }); asked == subresources {
				t.Errorf("subresources=%t: %s was requested: %t", subresources, path, asked)
			}
		}
	}
}

func TestNoIndex(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	gate, _ := newGate(t, 10*time.Millisecond)
	ctx, _ := openBrowser(t, gate, false)
	for path, want := range map[string]bool{"/scripted": true, "/tagged": true, "/plain": false} {
		p, err := visit(ctx, agent, s.URL+path)
		if err != nil || p.directives.NoIndex() != want || p.status != 200 || p.url != s.URL+path {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}

// A site that is over its limit is left alone, whoever heard so.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1000")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, "later") // without a body Chromium shows a page of its own
	})
	gate, opts := newGate(t, 10*time.Millisecond)
	ctx, refusals := openBrowser(t, gate, false)
	if p, err := visit(ctx, agent, s.URL+"/"); err != nil || p.status != 429 {
		t.Fatal(p, err)
	}
	if _, err := visit(ctx, agent, s.URL+"/next"); err == nil || len(refusals()) != 1 {
		t.Errorf("the next page: %v, %q", err, refusals())
	}
	if n := opts.Limiter.Stats().InFlight; n != 0 {
		t.Errorf("%d slots are held", n)
	}
}

// Without a gate nothing is requested.
func TestGateAway(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	ctx, refusals := openBrowser(t, "http://127.0.0.1:1", false)
	if _, err := visit(ctx, agent, s.URL+"/"); err == nil || len(refusals()) != 1 || len(s.requests()) > 0 {
		t.Errorf("%v, %q, %d requests", err, refusals(), len(s.requests()))
	}
}

// A page that is left while it waits gives its slot back.
func TestPageThatIsLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	gate, opts := newGate(t, time.Second)
	ctx, _ := openBrowser(t, gate, false)
	if _, err := visit(ctx, agent, s.URL+"/plain"); err != nil {
		t.Fatal(err)
	}
	tab, cancel := chromedp.NewContext(ctx)
	soon, stop := context.WithTimeout(tab, 200*time.Millisecond)
	defer stop()
	visit(soon, agent, s.URL+"/left")
	cancel()
	if _, err := visit(ctx, agent, s.URL+"/next"); err != nil {
		t.Fatal(err)
	}
	if n := opts.Limiter.Stats().InFlight; n != 0 {
		t.Errorf("%d slots are held", n)
	}
}
