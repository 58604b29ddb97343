//go:build unix

package queues

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	delay      = time.Second // what the workers keep without a Crawl-delay
	retryAfter = 2 * time.Second
	// A request is seen after it was sent, on a busy machine 500 ms after it.
	// So two may be seen closer together than they were sent.
	lag = 600 * time.Millisecond
)

// A site is a proxy that answers for many hosts. Each host has a Crawl-delay,
// pages that link to all others, and a disallowed part. One page of each host
// is answered with 429 when it is first asked for.
type site struct {
	hosts, pages int
	unit         time.Duration // the Crawl-delays are 1, 2 and 3 units

	mu   sync.Mutex
	log  []request
	hook func(worker string, pages int, r *http.Request) // called for each page, with how many the worker has asked for
	seen map[string]int
}

type request struct {
	host, path, worker string
	at                 time.Time
	status             int
}

func (s *site) host(n int) string                { return fmt.Sprintf("h%02d.example", n) }
func (s *site) crawlDelay(n int) time.Duration   { return s.unit * time.Duration(1+n%3) }
func (s *site) allowed(path string) bool         { return !strings.HasPrefix(path, "/private/") }
func (s *site) url(host int, path string) string { return "http://" + s.host(host) + path }

func (s *site) paths() (all []string) {
	for n := range s.pages {
		all = append(all, fmt.Sprintf("/%d", n))
	}
	return append(all, "/private/a", "/private/b")
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	worker := r.UserAgent()[strings.LastIndex(r.UserAgent(), " ")+1:]
	var number int
	if _, err := fmt.Sscanf(r.URL.Host, "h%d.example", &number); err != nil {
		http.Error(w, "no such host", http.StatusBadGateway)
		return
	}
	seen := request{host: r.URL.Host, path: r.URL.Path, worker: worker, at: time.Now(), status: http.StatusOK}
	page := r.URL.Path != "/robots.txt"
	s.mu.Lock()
	if page && r.URL.Path == "/2" && !slices.ContainsFunc(s.log, func(q request) bool { return q.host == seen.host && q.path == "/2" }) {
		seen.status = http.StatusTooManyRequests
	}
	s.log = append(s.log, seen)
	if page {
		s.seen[worker]++
	}
	n, hook := s.seen[worker], s.hook
	s.mu.Unlock()
	if page && hook != nil {
		hook(worker, n, r)
	}
	switch {
	case !page:
		fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\nDisallow: /private/\n", s.crawlDelay(number).Seconds())
	case seen.status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
		w.WriteHeader(seen.status)
	default:
		w.Header().Set("Content-Type", "text/html")
		for _, path := range s.paths() {
			fmt.Fprintf(w, "<a href=%q>%[1]s</a>\n", path)
		}
	}
}

// check reports each request that should not have been made, and each page that
// is missing. A page that the killed worker asked for may come twice.
func (s *site) check(t *testing.T, killed string) (started, ended time.Time) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.log, func(a, b request) int { return a.at.Compare(b.at) })
	failed := t.Failed() // the requests of the first host with a fault are printed
	for n := range s.hosts {
		host := s.host(n)
		times := make(map[string]int)
		byKilled := make(map[string]bool)
		// These are the earliest times at which requests may have been sent.
		// The lag counts once for a host: many intervals that are each a bit
		// too short are noticed.
		var last, lastPage, rest time.Time
		for _, q := range s.log {
			if q.host != host {
				continue
			}
			due := last.Add(delay)
			if q.path != "/robots.txt" {
				due = latest(due, lastPage.Add(s.crawlDelay(n)), rest)
			}
			if early := due.Sub(q.at); early > 0 {
				t.Errorf("%s%s came at least %v too soon", host, q.path, early)
				due = q.at
			}
			last = latest(due, q.at.Add(-lag))
			if q.path == "/robots.txt" {
				continue
			}
			lastPage = last
			if q.status == http.StatusTooManyRequests {
				rest = q.at.Add(retryAfter)
				continue
			}
			if !s.allowed(q.path) {
				t.Errorf("%s%s is disallowed", host, q.path)
			}
			times[q.path]++
			byKilled[q.path] = byKilled[q.path] || q.worker == killed
		}
		for _, path := range s.paths() {
			want := 1
			if killed != "" && byKilled[path] {
				want = 2
			}
			if got := times[path]; s.allowed(path) && (got < 1 || got > want) {
				t.Errorf("%s%s was fetched %d times, want 1 to %d", host, path, got, want)
			}
		}
		if t.Failed() && !failed {
			failed = true
			for _, q := range s.log {
				if q.host == host {
					t.Logf("%7v %s %d to worker %s",
						q.at.Sub(s.log[0].at).Round(time.Millisecond), q.path, q.status, q.worker)
				}
			}
		}
	}
	if len(s.log) == 0 {
		t.Fatal("no request was made")
	}
	return s.log[0].at, s.log[len(s.log)-1].at
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// ideal is the least time that the slowest host needs: its robots.txt, an
// interval for each page but the last, and the pause after the 429.
func (s *site) ideal() (least time.Duration) {
	for n := range s.hosts {
		crawl := s.crawlDelay(n)
		least = max(least, delay+time.Duration(s.pages-1)*crawl+max(crawl, retryAfter))
	}
	return least
}
