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
	delay      = time.Second // the interval of hosts without a Crawl-delay
	retryAfter = 2 * time.Second

	// lag is the longest time from the sending of a request to its entry in the
	// log, except for the stalls of this process. On a busy machine, that is
	// 500 ms. Two requests may therefore be closer together in the log than
	// when they were sent.
	lag = 600 * time.Millisecond
)

// A site is a proxy that serves many hosts. Each host has a Crawl-delay, pages
// that link to all others, and a disallowed part. The first response for one
// page of each host is a 429.
type site struct {
	hosts, pages int
	unit         time.Duration // the Crawl-delays are 1, 2 and 3 units

	mu      sync.Mutex
	log     []request
	pagesBy map[string]int // the number of pages that each worker has requested

	// onPage is called for each page, with the number of pages that the worker
	// has requested.
	onPage func(worker string, pages int, r *http.Request)
}

// A request is a request to the site.
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
	isPage := r.URL.Path != "/robots.txt"
	s.mu.Lock()
	status := s.add(r, worker)
	if isPage {
		s.pagesBy[worker]++
	}
	pages := s.pagesBy[worker]
	onPage := s.onPage
	s.mu.Unlock()
	if isPage && onPage != nil {
		onPage(worker, pages, r)
	}
	switch {
	case !isPage:
		fmt.Fprintf(w, "User-agent: *\nCrawl-delay: %g\nDisallow: /private/\n", s.crawlDelay(number).Seconds())
	case status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
		w.WriteHeader(status)
	default:
		w.Header().Set("Content-Type", "text/html")
		for _, path := range s.paths() {
			fmt.Fprintf(w, "<a href=%q>%[1]s</a>\n", path)
		}
	}
}

// add adds a request to the log, and returns the status of its response. The
// caller holds s.mu.
func (s *site) add(r *http.Request, worker string) (status int) {
	const busyPath = "/2"
	isRepeated := slices.ContainsFunc(s.log, func(q request) bool {
		return q.host == r.URL.Host && q.path == r.URL.Path
	})
	status = http.StatusOK
	if r.URL.Path == busyPath && !isRepeated {
		status = http.StatusTooManyRequests
	}
	s.log = append(s.log, request{
		host:   r.URL.Host,
		path:   r.URL.Path,
		worker: worker,
		at:     time.Now(),
		status: status,
	})
	return status
}

// checkAllowed checks that no disallowed page was requested.
func (s *site) checkAllowed(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.log {
		if !s.allowed(q.path) {
			t.Errorf("%s%s was requested by worker %s, which is disallowed", q.host, q.path, q.worker)
		}
	}
}

// check checks the requests to each host: their times, and that each page was
// fetched. A page that the killed worker requested may be fetched twice. check
// returns the times of the first and the last request.
func (s *site) check(t *testing.T, killed string) (started, ended time.Time) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) == 0 {
		t.Fatal("no request was sent")
	}
	slices.SortStableFunc(s.log, func(a, b request) int { return a.at.Compare(b.at) })
	for n := range s.hosts {
		hasFailed := t.Failed()
		log := s.hostLog(n)
		s.checkPace(t, n, log)
		s.checkPages(t, n, log, killed)
		if t.Failed() && !hasFailed { // print the requests of the first host with an error
			for _, q := range log {
				t.Logf("%7v %s %d to worker %s",
					q.at.Sub(s.log[0].at).Round(time.Millisecond), q.path, q.status, q.worker)
			}
		}
	}
	return s.log[0].at, s.log[len(s.log)-1].at
}

// hostLog returns the requests to the n-th host.
func (s *site) hostLog(n int) (log []request) {
	for _, q := range s.log {
		if q.host == s.host(n) {
			log = append(log, q)
		}
	}
	return log
}

// checkPace checks that no request to the n-th host was too early. It uses the
// earliest times at which requests may have been sent. The lag counts once for
// a host, so that many intervals that are each a bit too short are noticed.
func (s *site) checkPace(t *testing.T, n int, log []request) {
	t.Helper()
	var last, lastPage, pausedUntil time.Time
	for _, q := range log {
		isPage := q.path != "/robots.txt"
		due := last.Add(delay)
		if isPage {
			due = latest(due, lastPage.Add(s.crawlDelay(n)), pausedUntil)
		}
		if early := due.Sub(q.at); early > 0 {
			t.Errorf("%s%s was requested at least %v too early", q.host, q.path, early)
			due = q.at
		}
		last = latest(due, q.at.Add(-stalls.lag(q.at)))
		if isPage {
			lastPage = last
		}
		if q.status == http.StatusTooManyRequests {
			pausedUntil = q.at.Add(retryAfter)
		}
	}
}

// checkPages checks how often each page of the n-th host was fetched.
func (s *site) checkPages(t *testing.T, n int, log []request, killed string) {
	t.Helper()
	fetches := make(map[string]int)
	byKilled := make(map[string]bool) // whether the killed worker has requested the page
	for _, q := range log {
		if q.path == "/robots.txt" || q.status == http.StatusTooManyRequests {
			continue
		}
		fetches[q.path]++
		byKilled[q.path] = byKilled[q.path] || q.worker == killed
	}
	for _, path := range s.paths() {
		limit := 1
		if killed != "" && byKilled[path] {
			limit = 2
		}
		if got := fetches[path]; s.allowed(path) && (got < 1 || got > limit) {
			t.Errorf("%s was fetched %d times, want 1 to %d", s.url(n, path), got, limit)
		}
	}
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// ideal returns the minimum time that the slowest host needs: its robots.txt,
// an interval for each page except the last, and the pause after the 429.
func (s *site) ideal() (least time.Duration) {
	for n := range s.hosts {
		crawl := s.crawlDelay(n)
		least = max(least, delay+time.Duration(s.pages-1)*crawl+max(crawl, retryAfter))
	}
	return least
}
