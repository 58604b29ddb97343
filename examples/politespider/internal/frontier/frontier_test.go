package frontier_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier/shared"
	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // no log is needed: the calls return the important errors
	testmain.Quiet()
	testmain.Parallel(8)
	goleak.VerifyTestMain(m)
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// A queue is a frontier.
type queue interface {
	Add(pages ...*frontier.Page) int
	Take(ctx context.Context) (*frontier.Page, bool)
	Done(p *frontier.Page, lastRequest time.Time, interval time.Duration)
	Refuse(p *frontier.Page, lastRequest time.Time, interval time.Duration)
	Refund(p *frontier.Page)
	PutBack(p *frontier.Page, until time.Time)
	State() frontier.State
	Ended() map[string]int
	Close() error
}

// A setting is a test with one kind of frontier.
type setting struct {
	*testing.T
	with func(frontier.Limits) queue // returns an empty frontier
	unit time.Duration               // the unit of waiting times
	real bool                        // time is real, so things may happen late
}

// open returns an empty frontier that hands out at most max pages.
func (s setting) open(max int) queue { return s.with(frontier.Limits{Pages: max}) }

// since fails the test unless the time since start equals want. In real time,
// it may also be longer than want.
func (s setting) since(start time.Time, want time.Duration) {
	s.Helper()
	if got := time.Since(start); got < want || got > want && !s.real {
		s.Errorf("%v have passed since the start time, want %v", got, want)
	}
}

// take takes a page and checks its path.
func (s setting) take(f queue, wantPath string) *frontier.Page {
	s.Helper()
	p, ok := f.Take(s.Context())
	if !ok {
		s.Fatalf("no page was handed out, want %s", wantPath)
	}
	if urlPath(p) != wantPath {
		s.Fatalf("%s was handed out, want %s", p.URL, wantPath)
	}
	return p
}

// wantNoPage checks that no page is left.
func (s setting) wantNoPage(f queue) {
	s.Helper()
	if p, ok := f.Take(s.Context()); ok {
		s.Errorf("%s was handed out, want no page", p.URL)
	}
}

// everyFrontier runs a test with each kind of frontier. Those of this package
// run in a synctest bubble, and the one in Redis runs in real time.
func everyFrontier(t *testing.T, test func(s setting)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(setting{
				T:    t,
				unit: time.Minute,
				with: func(limits frontier.Limits) queue { return frontier.NewQueue(limits) },
			})
		})
	})
	t.Run("directory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(setting{
				T:    t,
				unit: time.Minute,
				with: func(limits frontier.Limits) queue { return openLimited(t, t.TempDir(), limits) },
			})
		})
	})
	t.Run("redis", func(t *testing.T) {
		client := redis.NewClient(&redis.Options{Addr: redisserver.Start(t).Addr})
		t.Cleanup(func() { client.Close() })
		n := 0
		openNext := func(limits frontier.Limits) queue {
			n++
			q, err := shared.Open(t.Context(), client, shared.Options{
				Crawl:  fmt.Sprint("crawl", n),
				Limits: limits,
				Lease:  15 * time.Second,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { q.Close() })
			return q
		}
		test(setting{T: t, unit: 300 * time.Millisecond, real: true, with: openNext})
	})
}

func openDirectory(t testing.TB, dir string, max int) *frontier.Queue {
	t.Helper()
	return openLimited(t, dir, frontier.Limits{Pages: max})
}

func openLimited(t testing.TB, dir string, limits frontier.Limits) *frontier.Queue {
	t.Helper()
	d, err := frontier.OpenDirectory(dir, frontier.About{}, limits, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func newPage(t testing.TB, rawURL string) *frontier.Page {
	t.Helper()
	p := &frontier.Page{URL: rawURL}
	if err := p.SetHost(); err != nil {
		t.Fatal(err)
	}
	return p
}

func urlPath(p *frontier.Page) string { return strings.TrimPrefix(p.URL, "http://"+p.Host) }

// Hosts take turns. Only one page of a host is out at a time.
func TestTake_HostsTakeTurns(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		for _, u := range []string{
			"http://a.example/1",
			"http://a.example/2",
			"http://a.example/3",
			"http://b.example/1",
		} {
			f.Add(newPage(s, u))
		}
		first, _ := f.Take(s.Context())
		second, _ := f.Take(s.Context())
		if first.Host == second.Host {
			s.Errorf("two pages of %s were out at a time", first.Host)
		}
		f.Done(first, time.Now(), 0)
		f.Done(second, time.Now(), 0)
		f.Done(s.take(f, "/2"), time.Now(), 0)
		f.Done(s.take(f, "/3"), time.Now(), 0)
		s.wantNoPage(f)
		if got, want := f.State(), (frontier.State{Spent: 4}); got != want {
			s.Errorf("state at the end is %+v, want %+v", got, want)
		}
	})
}

func TestAdd_Twice(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"))
		if n := f.Add(newPage(s, "http://a.example/")); n != 0 {
			s.Errorf("adding a URL again: Add returned %d, want 0", n)
		}
	})
}

// All fields of a page are kept when the page is put back.
func TestPutBack_Fields(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		want := newPage(s, "http://a.example/ü?b=%2F&c")
		want.From = "http://a.example/"
		want.Depth = 3
		want.Sitemap = true
		f.Add(want)
		for puts := range 3 {
			got, ok := f.Take(s.Context())
			if !ok {
				s.Fatal("no page was handed out")
			}
			fields := fmt.Sprint(got.URL, got.From, got.Depth, got.Sitemap, got.Puts)
			if want := fmt.Sprint(want.URL, want.From, want.Depth, want.Sitemap, puts); fields != want {
				s.Fatalf("after %d put-backs, the page is %s, want %s", puts, fields, want)
			}
			got.Puts++
			f.PutBack(got, time.Now())
		}
	})
}

// The whole host waits until the time of PutBack, not only the page.
func TestPutBack(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(2)
		f.Add(newPage(s, "http://a.example/busy"))
		p := s.take(f, "/busy")
		start := time.Now()
		f.PutBack(p, start.Add(s.unit))

		f.Add(newPage(s, "http://a.example/other"))
		first, ok := f.Take(s.Context())
		if !ok {
			s.Fatal("no page was handed out")
		}
		s.since(start, s.unit)
		f.Done(first, time.Now(), 0)
		second, ok := f.Take(s.Context())
		if !ok || urlPath(second) == urlPath(first) {
			s.Errorf("second page is %v after %v, want the other page", second, first)
		}
	})
}

// While a page waits until its Due, other pages of its host are handed out,
// including new ones. When the page is due, it precedes these other pages.
func TestPage_Due(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/1"), newPage(s, "http://a.example/2"))
		start := time.Now()
		p := s.take(f, "/1")
		p.Puts = 1
		p.Due = start.Add(2 * s.unit)
		f.PutBack(p, start)
		f.Done(s.take(f, "/2"), start, 0)
		if n := f.State().Queued; n != 1 {
			s.Errorf("%d pages are queued, want only the one that waits", n)
		}

		var adding sync.WaitGroup
		adding.Go(func() {
			time.Sleep(s.unit)
			f.Add(newPage(s, "http://a.example/3"), newPage(s, "http://a.example/4"))
		})
		third := s.take(f, "/3")
		s.since(start, s.unit)
		adding.Wait()
		time.Sleep(s.unit)
		f.Done(third, start, 0)
		again := s.take(f, "/1")
		s.since(start, 2*s.unit)
		if again.Puts != 1 {
			s.Errorf("Puts is %d, want 1", again.Puts)
		}
		f.Done(again, start, 0)
		f.Done(s.take(f, "/4"), start, 0)
		s.wantNoPage(f)
		if state := f.State(); state.Queued != 0 || state.Spent != 4 {
			s.Errorf("state at the end is %+v, want 0 queued and 4 spent", state)
		}
	})
}

// If a host's latest page was put off, the next page comes from the end of the
// host's queue, even if another page has waited until its Due.
func TestTake_AfterPutOff(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		for _, path := range []string{"/1", "/2", "/3", "/4", "/5"} {
			f.Add(newPage(s, "http://a.example"+path))
		}
		putOff := func(p *frontier.Page) {
			p.Puts++
			p.Due = time.Now().Add(20 * time.Millisecond)
			f.PutBack(p, time.Now())
			time.Sleep(30 * time.Millisecond)
		}
		putOff(s.take(f, "/1"))
		f.PutBack(s.take(f, "/5"), time.Now()) // /5 was not requested
		f.Refund(s.take(f, "/5"))              // /5 needed no request
		f.Done(s.take(f, "/4"), time.Now(), 0)
		f.Done(s.take(f, "/1"), time.Now(), 0) // /1 is given up
		f.Done(s.take(f, "/3"), time.Now(), 0)
		putOff(s.take(f, "/2"))
		f.Done(s.take(f, "/2"), time.Now(), 0) // no other page is left
		s.wantNoPage(f)
	})
}

// A page with a Due also waits until its host is due.
func TestPage_DueBeforeHost(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/1"))
		start := time.Now()
		p := s.take(f, "/1")
		p.Due = start.Add(s.unit)
		f.PutBack(p, start.Add(2*s.unit))
		s.take(f, "/1")
		s.since(start, 2*s.unit)
	})
}

// After Done, no page of the host is handed out until the interval has passed.
func TestDone_Interval(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"), newPage(s, "http://b.example/"))
		p, _ := f.Take(s.Context())
		start := time.Now()
		f.Done(p, start, s.unit)
		f.Add(newPage(s, "http://"+p.Host+"/late"))

		other := s.take(f, "/")
		if other.Host == p.Host {
			s.Fatalf("a page of %s was handed out, want one of the other host", p.Host)
		}
		s.take(f, "/late")
		s.since(start, s.unit)
	})
}

// The maximum number of pages does not include refunded pages.
func TestTake_MaxPages(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(1)
		for _, path := range []string{"/disallowed", "/1", "/2"} {
			f.Add(newPage(s, "http://a.example"+path))
		}
		f.Refund(s.take(f, "/disallowed"))
		f.Done(s.take(f, "/1"), time.Now(), 0)
		s.wantNoPage(f)
		if state := f.State(); state.Queued != 1 || state.Spent != 1 || state.Free != 1 {
			s.Errorf("state is %+v, want 1 queued, 1 spent, 1 free", state)
		}
	})
}

// When a host has refused as many pages as permitted, its other pages stay
// queued, even those that are found later, and the crawl of the other hosts
// continues. Pages that were fetched or put back do not count.
func TestRefuse(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.with(frontier.Limits{Pages: 100, Refused: 2})
		for n := range 7 {
			f.Add(newPage(s, fmt.Sprintf("http://a.example/%d", n)))
		}
		p := s.take(f, "/0")
		p.Puts++
		f.PutBack(p, time.Now())
		f.Refuse(s.take(f, "/1"), time.Now(), 0)
		f.Done(s.take(f, "/2"), time.Now(), 0)
		f.Refuse(s.take(f, "/3"), time.Now(), 0)
		f.Add(newPage(s, "http://a.example/late"), newPage(s, "http://b.example/other"))
		f.Done(s.take(f, "/other"), time.Now(), 0)
		s.wantNoPage(f)
		if got, want := f.Ended(), map[string]int{"a.example": 5}; !maps.Equal(got, want) {
			s.Errorf("ended hosts are %v, want %v", got, want)
		}
		if state := f.State(); state.Queued != 5 || state.Out != 0 || state.Hosts != 0 {
			s.Errorf("state is %+v, want 5 queued pages and no host that is due", state)
		}
	})
}

// A host that has refused as many pages as permitted has not ended if none of
// its pages is left.
func TestRefuse_LastPage(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.with(frontier.Limits{Pages: 100, Refused: 2})
		f.Add(newPage(s, "http://a.example/0"), newPage(s, "http://a.example/1"))
		f.Refuse(s.take(f, "/0"), time.Now(), 0)
		f.Refuse(s.take(f, "/1"), time.Now(), 0)
		if ended := f.Ended(); len(ended) != 0 {
			s.Errorf("ended hosts are %v, want none", ended)
		}
	})
}

// Without a limit, no refused page ends the crawl of a host.
func TestRefuse_NoLimit(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(100)
		for n := range 30 {
			f.Add(newPage(s, fmt.Sprintf("http://a.example/%d", n)))
		}
		taken := 0
		for {
			p, ok := f.Take(s.Context())
			if !ok {
				break
			}
			taken++
			f.Refuse(p, time.Now(), 0)
		}
		if ended := f.Ended(); taken != 30 || len(ended) != 0 {
			s.Errorf("%d pages were handed out and the hosts %v have ended, want 30 and none", taken, ended)
		}
	})
}

// If the only host ends while it is paused, the crawl is over immediately.
func TestRefuse_DuringPause(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.with(frontier.Limits{Pages: 100, Refused: 1})
		f.Add(newPage(s, "http://a.example/0"), newPage(s, "http://a.example/1"))
		f.Refuse(s.take(f, "/0"), time.Now(), time.Hour)
		start := time.Now()
		s.wantNoPage(f)
		if waited := time.Since(start); waited > time.Minute {
			s.Errorf("Take waited %v, want an immediate end", waited)
		}
	})
}

// If no page is queued but another worker has a page, Take waits, because that
// worker may find links.
func TestTake_WaitsForLinks(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"))
		p := s.take(f, "/")
		taken := make(chan bool)
		go func() {
			_, ok := f.Take(s.Context())
			taken <- ok
		}()
		time.Sleep(s.unit)
		f.Add(newPage(s, "http://b.example/"))
		if !<-taken {
			s.Error("Take returned false, want the page that was found meanwhile")
		}
		f.Done(p, time.Now(), 0)
	})
}

// Take returns when its context ends. No page is lost.
func TestTake_ContextEnds(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"))
		p, _ := f.Take(s.Context())
		f.PutBack(p, time.Now().Add(time.Hour))
		ctx, cancel := context.WithTimeout(s.Context(), s.unit)
		defer cancel()
		start := time.Now()
		if p, ok := f.Take(ctx); ok {
			s.Errorf("%s was handed out before its time, want no page", p.URL)
		}
		s.since(start, s.unit)
		f.Add(newPage(s, "http://b.example/"))
		if p, ok := f.Take(ctx); ok {
			s.Errorf("%s was handed out after the context had ended, want no page", p.URL)
		}
		if left := f.State().Queued; left != 2 {
			s.Errorf("%d pages are queued, want 2", left)
		}
	})
}

// Many workers find each page of a site several times. They fetch each page
// once, and only one page of a host at a time.
func TestTake_ManyWorkers(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(1000)
		f.Add(newPage(s, pageURL(0)))
		var mu sync.Mutex
		fetched := make(map[string]int)
		busy := make(map[string]bool)
		fetch := func(p *frontier.Page) {
			mu.Lock()
			if busy[p.Host] {
				s.Errorf("two pages of %s were out at a time", p.Host)
			}
			busy[p.Host] = true
			fetched[p.URL]++
			mu.Unlock()
			f.Add(newLinks(s, p)...)
			mu.Lock()
			busy[p.Host] = false
			mu.Unlock()
			f.Done(p, time.Now(), 0)
		}
		var workers sync.WaitGroup
		for range 16 {
			workers.Go(func() {
				for {
					p, ok := f.Take(s.Context())
					if !ok {
						return
					}
					fetch(p)
				}
			})
		}
		workers.Wait()
		want := make(map[string]int)
		for n := range sitePages {
			want[pageURL(n)] = 1
		}
		if !maps.Equal(fetched, want) {
			s.Errorf("fetched pages are %v, want each of %d pages once", fetched, sitePages)
		}
	})
}

// sitePages is the number of pages of the tests' site, on five hosts. Each page
// links to at most three pages. All pages can be reached from page 0.
const sitePages = 60

func pageURL(n int) string { return fmt.Sprintf("http://host%d.example/%d", n%5, n) }

// newLinks returns the links of a page of the tests' site.
func newLinks(t testing.TB, p *frontier.Page) []*frontier.Page {
	var n int
	if _, err := fmt.Sscanf(urlPath(p), "/%d", &n); err != nil {
		t.Error(err)
	}
	var links []*frontier.Page
	for _, to := range []int{2*n + 1, 2*n + 2, n / 2} {
		if to < sitePages {
			link := newPage(t, pageURL(to))
			link.From = p.URL
			links = append(links, link)
		}
	}
	return links
}

// The links of a page lead to many hosts, each with a fragment of a megabyte,
// which is not part of the page's URL. The queue keeps the names of the hosts
// in memory, but not the links.
func TestHostKey_KeepsNoLink(t *testing.T) {
	q := frontier.NewQueue(frontier.Limits{Pages: 100})
	before := testmain.Heap()
	for i := range 50 {
		u, err := url.Parse(fmt.Sprintf("http://host%d.example/#%s", i, strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		u.Fragment = ""
		q.Add(&frontier.Page{URL: u.String(), Host: frontier.HostKey(u)})
	}
	if grown := testmain.Heap() - before; grown > 10<<20 {
		t.Errorf("50 pages take %d bytes, want at most %d", grown, 10<<20)
	}
	if n := q.State().Queued; n != 50 {
		t.Errorf("%d pages are queued, want 50", n)
	}
}
