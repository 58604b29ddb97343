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

// A site is a site that logs its requests.
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
		s.log = append(s.log, request{
			at:     time.Now(),
			method: r.Method,
			path:   r.URL.RequestURI(),
			agent:  r.UserAgent(),
		})
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

// paths returns the paths of the log, and fails the test if a disallowed one is
// among them.
func (s *site) paths(t *testing.T) (paths []string) {
	t.Helper()
	for _, r := range s.requests() {
		if strings.Contains(r.path, "private") {
			t.Errorf("a disallowed page was requested: %s %s by the User-Agent %q", r.method, r.path, r.agent)
		}
		paths = append(paths, r.path)
	}
	return paths
}

// newGate starts a gate, and returns its URL and its options, which a Go client
// can share.
func newGate(t *testing.T, delay time.Duration) (string, robotsmw.Options) {
	t.Helper()
	store, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opts := robotsmw.Options{
		UserAgent:     agent,
		Store:         store,
		Limiter:       &politeness.Limiter{Delay: delay, Lease: time.Minute},
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

// refusals contains the requests that a browser did not send, with the reasons.
type refusals struct {
	mu   sync.Mutex
	list []string
}

func (r *refusals) add(url string, v verdict, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, fmt.Sprint(url, " ", v.Reason, " ", v.Rule, v.Error, " ", err))
}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func (r *refusals) contain(url string) bool {
	return strings.Contains(strings.Join(r.all(), "\n"), url)
}

// openBrowser starts a Chromium with a guard, or skips the test if there is no
// Chromium.
func openBrowser(t *testing.T, gate string, subresources bool) (context.Context, *refusals) {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("SKIPPED: no chromium in the path: the browser's guard is not tested " +
			"(apt-get install chromium)")
	}
	refused := new(refusals)
	g := &guard{gate: gate, subresources: subresources, onRefused: refused.add}
	ctx, cancel, err := open(t.Context(), agent, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return ctx, refused
}

// settle waits until the site has received no request for two seconds.
func (s *site) settle() {
	for last := -1; last != len(s.requests()); time.Sleep(2 * time.Second) {
		last = len(s.requests())
	}
}

// pageWithAllRequests makes Chromium request pages in every way: by frames,
// popups, redirects, forms, downloads, service workers and prefetches.
const pageWithAllRequests = `<title>All</title>
<link rel=stylesheet href=/style.css><img src=/image.png><script src=/script.js></script>
<link rel=prefetch href=/private/prefetched><link rel=prerender href=/private/prerendered>
<script type=speculationrules>{
	"prerender": [{"source": "list", "urls": ["/private/speculated"], "eagerness": "immediate"}],
	"prefetch": [{"source": "list", "urls": ["/private/speculated2"], "eagerness": "immediate"}]
}</script>
<iframe src=/frame></iframe> <iframe src=/private/frame></iframe> <iframe src=/hop></iframe>
<iframe src="http://localhost:PORT/frame?elsewhere"></iframe>
<iframe src="http://localhost:PORT/private/elsewhere"></iframe>
<iframe srcdoc="<iframe src=/private/srcdoc></iframe>"></iframe>
<object data=/private/object></object> <embed src=/private/embed>
<form id=form method=post target=_blank action=/private/form></form>
<a id=link target=_blank rel=noopener href=/private/link>
<a id=download download href=/private/download>
<script>
	open('/popup'); open('/private/popup'); open('/popup-that-opens');
	form.submit(); link.click(); download.click();
	navigator.serviceWorker.register('/worker.js').then(
		() => fetch('/private/by-worker'), () => fetch('/no-worker'));
	const blank = open('about:blank'); blank.location = '/private/later';
	const blob = document.body.appendChild(document.createElement('iframe'));
	const frame = '<iframe src="' + location.origin + '/private/blob"></iframe>';
	blob.src = URL.createObjectURL(new Blob([frame], {type: 'text/html'}));
</script>`

func pages(w http.ResponseWriter, r *http.Request) {
	_, port, _ := strings.Cut(r.Host, ":")
	switch r.URL.Path {
	case "/":
		io.WriteString(w, strings.ReplaceAll(pageWithAllRequests, "PORT", port))
	case "/hop":
		http.Redirect(w, r, "/hop2", http.StatusFound)
	case "/hop2":
		http.Redirect(w, r, "/private/hop3", http.StatusMovedPermanently)
	case "/popup-that-opens":
		io.WriteString(w, "<script>open('/private/opened')</script>"+
			"<iframe src=/private/in-popup></iframe>")
	case "/refresh":
		io.WriteString(w, `<meta http-equiv=refresh content="0;url=/private/refreshed">`)
	case "/worker.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, "onfetch = e => e.respondWith(fetch('/private/worker'))")
	case "/scripted":
		io.WriteString(w, `<title>Scripted</title><script>
			const meta = document.createElement('meta');
			meta.name = 'robots';
			meta.content = 'noindex';
			document.head.append(meta);
		</script>`)
	case "/tagged":
		w.Header().Add("X-Robots-Tag", "otherbot: nofollow")
		w.Header().Add("X-Robots-Tag", "testbot: noindex")
	default:
		io.WriteString(w, "<title>"+r.URL.Path+"</title>")
	}
}

// No disallowed page is requested, however a page makes Chromium request it.
func TestGuard_DisallowedPages(t *testing.T) {
	t.Parallel()
	for _, subresources := range []bool{false, true} {
		t.Run(fmt.Sprintf("subresources=%t", subresources), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, pages)
			gate, _ := newGate(t, 10*time.Millisecond)
			ctx, refused := openBrowser(t, gate, subresources)
			if _, err := visit(ctx, agent, s.URL+"/"); err != nil {
				t.Fatal(err)
			}
			visitRefreshed(ctx, t, s, refused)
			_, err := visit(ctx, agent, s.URL+"/private")
			if want := "BLOCKED_BY_CLIENT"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("visit of a disallowed page returned the error %v, want %s", err, want)
			}
			s.settle()
			requested := s.paths(t)
			for _, path := range allowedPaths {
				if !slices.Contains(requested, path) {
					t.Errorf("%s was not requested, want a request", path)
				}
			}
			for _, path := range refusedPaths {
				if !refused.contain(path) {
					t.Errorf("%s was not refused, want a refusal", path)
				}
			}
			if t.Failed() {
				t.Logf("requested:\n%q\nrefused:\n%q", requested, refused.all())
			}
		})
	}
}

// The paths that pageWithAllRequests and the pages after it request.
var (
	allowedPaths = []string{
		"/", "/frame", "/frame?elsewhere", "/hop", "/hop2", "/popup", "/popup-that-opens",
		"/refresh", "/script.js", "/no-worker",
	}
	refusedPaths = []string{
		"/private/frame", "/private/elsewhere", "/private/hop3", "/private/srcdoc",
		"/private/object", "/private/embed", "/private/form", "/private/link",
		"/private/download", "/private/popup", "/private/opened", "/private/in-popup",
		"/private/later", "/private/blob", "/private/refreshed", "/private ", "/worker.js",
		"/private/prefetched",
	}
)

// visitRefreshed visits a page that refreshes to a disallowed one, and waits
// until the disallowed page is refused: another visit would cancel a refresh
// that has not begun. The first page may be read before or after the refresh.
func visitRefreshed(ctx context.Context, t *testing.T, s *site, refused *refusals) {
	t.Helper()
	_, err := visit(ctx, agent, s.URL+"/refresh")
	if err != nil && !errors.Is(err, errLeft) {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for !refused.contain("/private/refreshed") {
		if time.Now().After(deadline) {
			t.Fatal("/private/refreshed was not refused within a minute, want a refusal")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Subresources are checked only if guard.subresources is set.
func TestGuard_Subresources(t *testing.T) {
	t.Parallel()
	for _, subresources := range []bool{false, true} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<img src=/private.png>"+
				"<script>fetch('/private.json'); new Worker('/private.js')</script>")
		})
		gate, _ := newGate(t, 10*time.Millisecond)
		ctx, _ := openBrowser(t, gate, subresources)
		if _, err := visit(ctx, agent, s.URL+"/"); err != nil {
			t.Fatal(err)
		}
		s.settle()
		for _, path := range []string{"/private.png", "/private.json", "/private.js"} {
			isPath := func(r request) bool { return r.path == path }
			got := slices.ContainsFunc(s.requests(), isPath)
			if want := !subresources; got != want {
				t.Errorf("subresources=%t: %s was requested: %t, want %t", subresources, path, got, want)
			}
		}
	}
}

func TestVisit_NoIndex(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	gate, _ := newGate(t, 10*time.Millisecond)
	ctx, _ := openBrowser(t, gate, false)
	for path, want := range map[string]bool{"/scripted": true, "/tagged": true, "/plain": false} {
		p, err := visit(ctx, agent, s.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.directives.NoIndex(); got != want {
			t.Errorf("noindex of %s is %t, want %t", path, got, want)
		}
		if p.status != http.StatusOK || p.url != s.URL+path {
			t.Errorf("visit of %s returned the status %d and the URL %s, want 200 and the same URL", path, p.status, p.url)
		}
	}
}

// checkNoSlots fails the test if a slot of the gate is in use.
func checkNoSlots(t *testing.T, opts robotsmw.Options) {
	t.Helper()
	if n := opts.Limiter.Stats().InFlight; n != 0 {
		t.Errorf("%d slots of the gate are in use, want none", n)
	}
}

// The guard reports the Retry-After of a response to the gate, which then
// refuses further requests to the host.
func TestGuard_RetryAfter(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1000")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, "later") // without a body, Chromium shows an error page of its own
	})
	gate, opts := newGate(t, 10*time.Millisecond)
	ctx, refused := openBrowser(t, gate, false)
	p, err := visit(ctx, agent, s.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	if p.status != http.StatusTooManyRequests {
		t.Fatalf("visit of the first page returned the status %d, want 429", p.status)
	}
	if _, err := visit(ctx, agent, s.URL+"/next"); err == nil {
		t.Error("visit of the next page succeeded, want an error")
	}
	if all := refused.all(); len(all) != 1 {
		t.Errorf("refused requests are %q, want only the next page", all)
	}
	checkNoSlots(t, opts)
}

// If the gate is unreachable, no request is sent.
func TestGuard_UnreachableGate(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	ctx, refused := openBrowser(t, "http://127.0.0.1:1", false)
	if _, err := visit(ctx, agent, s.URL+"/"); err == nil {
		t.Error("visit without a gate succeeded, want an error")
	}
	if all := refused.all(); len(all) != 1 {
		t.Errorf("refused requests are %q, want only the page", all)
	}
	if n := len(s.requests()); n > 0 {
		t.Errorf("the site received %d requests, want none", n)
	}
}

// If a page is left while its request waits, its slot is released.
func TestGuard_LeftPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, pages)
	gate, opts := newGate(t, time.Second)
	ctx, _ := openBrowser(t, gate, false)
	if _, err := visit(ctx, agent, s.URL+"/plain"); err != nil {
		t.Fatal(err)
	}
	tab, cancelTab := chromedp.NewContext(ctx)
	shortly, cancel := context.WithTimeout(tab, 200*time.Millisecond)
	defer cancel()
	visit(shortly, agent, s.URL+"/left")
	cancelTab()
	if _, err := visit(ctx, agent, s.URL+"/next"); err != nil {
		t.Fatal(err)
	}
	checkNoSlots(t, opts)
}
