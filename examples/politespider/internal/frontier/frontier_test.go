package frontier_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
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

type queue interface {
	Add(pages ...*frontier.Page) int
	Take(ctx context.Context) (*frontier.Page, bool)
	Done(p *frontier.Page, asked time.Time, interval time.Duration)
	Refuse(p *frontier.Page, asked time.Time, interval time.Duration)
	Refund(p *frontier.Page)
	PutBack(p *frontier.Page, until time.Time)
	State() frontier.State
	Ended() map[string]int
	Close() error
}

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
		s.Errorf("after %v, want %v", got, want)
	}
}

// everyFrontier runs a test with each frontier. Those of this package run in a
// synctest bubble, and Redis runs in real time.
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
		test(setting{T: t, unit: 300 * time.Millisecond, real: true, with: func(limits frontier.Limits) queue {
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
		}})
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

func TestHostsTakeTurns(t *testing.T) {
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
		if f.Add(newPage(s, "http://a.example/2")) != 0 {
			s.Error("a URL was added twice")
		}
		first, _ := f.Take(s.Context())
		second, _ := f.Take(s.Context())
		if first.Host == second.Host {
			s.Errorf("two pages of %s were out at a time", first.Host)
		}
		f.Done(first, time.Now(), 0)
		f.Done(second, time.Now(), 0)
		var rest []string
		for {
			p, ok := f.Take(s.Context())
			if !ok {
				break
			}
			rest = append(rest, p.URL)
			f.Done(p, time.Now(), 0)
		}
		if want := []string{"http://a.example/2", "http://a.example/3"}; !slices.Equal(rest, want) {
			s.Errorf("then came %q, want %q", rest, want)
		}
		if state := f.State(); state != (frontier.State{Spent: 4}) {
			s.Errorf("at the end: %+v", state)
		}
	})
}

func TestPage(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		p := newPage(s, "http://a.example/ü?b=%2F&c")
		p.From, p.Depth, p.Sitemap = "http://a.example/", 3, true
		f.Add(p)
		for puts := range 3 {
			got, ok := f.Take(s.Context())
			if !ok || got.URL != p.URL || got.From != p.From || got.Puts != puts || got.Depth != 3 || !got.Sitemap {
				s.Fatalf("%+v, %t; want %+v with %d puts", got, ok, p, puts)
			}
			got.Puts++
			f.PutBack(got, time.Now())
		}
	})
}

func TestPutBack(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(2)
		f.Add(newPage(s, "http://a.example/busy"))
		p, _ := f.Take(s.Context())
		start := time.Now()
		f.PutBack(p, start.Add(s.unit))

		f.Add(newPage(s, "http://a.example/other")) // the whole host waits, not only the page
		first, ok := f.Take(s.Context())
		if !ok {
			s.Fatal("nothing was handed out")
		}
		s.since(start, s.unit)
		f.Done(first, time.Now(), 0)
		second, ok := f.Take(s.Context())
		if !ok || urlPath(second) == urlPath(first) {
			s.Error("a page was lost")
		}
	})
}

// While a page waits until its Due, other pages of its host are handed out,
// including new ones. When the page is due, it comes before these other pages.
func TestWaitsByItself(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/1"), newPage(s, "http://a.example/2"))
		start := time.Now()
		p, _ := f.Take(s.Context())
		p.Puts, p.Due = 1, start.Add(2*s.unit)
		f.PutBack(p, start)
		takes := func(path string, after time.Duration) *frontier.Page {
			s.Helper()
			p, ok := f.Take(s.Context())
			if !ok || urlPath(p) != path {
				s.Fatalf("%v was handed out, want %s", p, path)
			}
			s.since(start, after)
			return p
		}
		f.Done(takes("/2", 0), start, 0)
		if n := f.State().Queued; n != 1 {
			s.Errorf("%d are queued, want the one that waits", n)
		}

		var late sync.WaitGroup
		late.Go(func() {
			time.Sleep(s.unit)
			f.Add(newPage(s, "http://a.example/3"), newPage(s, "http://a.example/4"))
		})
		third := takes("/3", s.unit)
		late.Wait()
		time.Sleep(s.unit)
		f.Done(third, start, 0)
		again := takes("/1", 2*s.unit)
		if again.Puts != 1 {
			s.Errorf("it was put off %d times, want 1", again.Puts)
		}
		f.Done(again, start, 0)
		f.Done(takes("/4", 2*s.unit), start, 0)
		if _, ok := f.Take(s.Context()); ok {
			s.Error("there was a page more")
		}
		if state := f.State(); state.Queued != 0 || state.Spent != 4 {
			s.Errorf("at the end: %+v", state)
		}
	})
}

// If a host's latest page was put off, the next page comes from the end of the
// host's queue, even if another page has waited until its Due.
func TestHurt(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		for _, path := range []string{"/1", "/2", "/3", "/4", "/5"} {
			f.Add(newPage(s, "http://a.example"+path))
		}
		take := func(want string) *frontier.Page {
			s.Helper()
			p, ok := f.Take(s.Context())
			if !ok || urlPath(p) != want {
				s.Fatalf("%v was handed out, want %s", p, want)
			}
			return p
		}
		putOff := func(p *frontier.Page) {
			p.Puts++
			p.Due = time.Now().Add(20 * time.Millisecond)
			f.PutBack(p, time.Now())
			time.Sleep(30 * time.Millisecond)
		}
		putOff(take("/1"))
		fifth := take("/5")
		f.PutBack(fifth, time.Now()) // /5 was not requested
		f.Refund(take("/5"))         // /5 needed no request
		f.Done(take("/4"), time.Now(), 0)
		again := take("/1")
		f.Done(again, time.Now(), 0) // the page is given up
		f.Done(take("/3"), time.Now(), 0)
		putOff(take("/2"))
		f.Done(take("/2"), time.Now(), 0) // /2 comes again, because no other page is left
		if _, ok := f.Take(s.Context()); ok {
			s.Error("there was a page more")
		}
	})
}

// A page with a Due also waits until its host may be asked.
func TestWaitsForItsHost(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/1"))
		start := time.Now()
		p, _ := f.Take(s.Context())
		p.Due = start.Add(s.unit)
		f.PutBack(p, start.Add(2*s.unit))
		if _, ok := f.Take(s.Context()); !ok {
			s.Fatal("nothing was handed out")
		}
		s.since(start, 2*s.unit)
	})
}

func TestInterval(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"), newPage(s, "http://b.example/"))
		p, _ := f.Take(s.Context())
		start := time.Now()
		f.Done(p, start, s.unit)
		f.Add(newPage(s, "http://"+p.Host+"/late"))

		other, _ := f.Take(s.Context())
		if other.Host == p.Host {
			s.Fatalf("%s was not left alone", p.Host)
		}
		late, ok := f.Take(s.Context())
		if !ok || urlPath(late) != "/late" {
			s.Fatalf("%v, %t", late, ok)
		}
		s.since(start, s.unit)
	})
}

func TestBudget(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(1)
		f.Add(newPage(s, "http://a.example/blocked"), newPage(s, "http://a.example/1"), newPage(s, "http://a.example/2"))
		p, _ := f.Take(s.Context())
		f.Refund(p)
		p, ok := f.Take(s.Context())
		if !ok {
			s.Fatal("a page that cost nothing was counted")
		}
		f.Done(p, time.Now(), 0)
		if _, ok := f.Take(s.Context()); ok {
			s.Error("more pages than the budget allows")
		}
		if state := f.State(); state.Queued != 1 || state.Spent != 1 || state.Free != 1 {
			s.Errorf("%+v, want 1 queued, 1 spent, 1 free", state)
		}
	})
}

// When a host has refused as many pages as permitted, its other pages stay
// queued, even those that are found later, and the crawl goes on with the other
// hosts. Pages that were fetched or put back do not count.
func TestRefused(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.with(frontier.Limits{Pages: 100, Refused: 2})
		for n := range 7 {
			f.Add(newPage(s, fmt.Sprintf("http://a.example/%d", n)))
		}
		f.Add(newPage(s, "http://b.example/0"), newPage(s, "http://b.example/1"))
		var taken []string
		refused := 0
		for {
			p, ok := f.Take(s.Context())
			if !ok {
				break
			}
			taken = append(taken, p.URL)
			switch {
			case p.Host == "b.example":
				f.Refuse(p, time.Now(), 0) // once for each of its pages: the limit, with no page left
			case urlPath(p) == "/0" && p.Puts == 0:
				p.Puts++
				f.PutBack(p, time.Now())
			case urlPath(p) == "/1" || urlPath(p) == "/3":
				refused++
				f.Refuse(p, time.Now(), 0)
			default:
				f.Done(p, time.Now(), 0)
			}
			if refused == 2 {
				refused++
				f.Add(newPage(s, "http://a.example/late"), newPage(s, "http://c.example/"))
			}
		}
		ofA := 0
		for _, url := range taken {
			if strings.HasPrefix(url, "http://a.example/") {
				ofA++
			}
		}
		if ofA != 4 || !slices.Contains(taken, "http://c.example/") || slices.Contains(taken, "http://a.example/4") {
			s.Errorf("taken: %q; want a.example's pages to /3, /0 at the end of the queue, and all of the others",
				taken)
		}
		if got, want := f.Ended(), map[string]int{"a.example": 5}; !maps.Equal(got, want) {
			s.Errorf("ended: %v, want %v", got, want)
		}
		if state := f.State(); state.Queued != 5 || state.Out != 0 || state.Hosts != 0 {
			s.Errorf("%+v, want 5 queued, no host that is due", state)
		}
	})
}

// Without a limit, no refused page ends the crawl of a host.
func TestRefused_NoLimit(t *testing.T) {
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
			s.Errorf("%d pages, and ended: %v; want 30, and none", taken, ended)
		}
	})
}

// The pages of a host that is in the middle of its pause wait no longer when
// its crawl ends: the crawl is over at once.
func TestRefused_EndsAtOnce(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.with(frontier.Limits{Pages: 100, Refused: 1})
		f.Add(newPage(s, "http://a.example/0"), newPage(s, "http://a.example/1"))
		p, _ := f.Take(s.Context())
		f.Refuse(p, time.Now(), time.Hour)
		start := time.Now()
		if p, ok := f.Take(s.Context()); ok || time.Since(start) > time.Minute {
			s.Errorf("%v, %t after %v; want the end of the crawl", p, ok, time.Since(start))
		}
	})
}

// If no page is queued but another worker has a page, Take waits, because that
// worker may find links.
func TestWaitsForLinks(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"))
		p, _ := f.Take(s.Context())
		taken := make(chan bool)
		go func() {
			_, ok := f.Take(s.Context())
			taken <- ok
		}()
		time.Sleep(s.unit)
		f.Add(newPage(s, "http://b.example/"))
		if !<-taken {
			s.Error("the worker went home before the link was found")
		}
		f.Done(p, time.Now(), 0)
	})
}

func TestContextEnds(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(10)
		f.Add(newPage(s, "http://a.example/"))
		p, _ := f.Take(s.Context())
		f.PutBack(p, time.Now().Add(time.Hour))
		ctx, cancel := context.WithTimeout(s.Context(), s.unit)
		defer cancel()
		start := time.Now()
		if _, ok := f.Take(ctx); ok {
			s.Error("a page was handed out before its time")
		}
		s.since(start, s.unit)
		f.Add(newPage(s, "http://b.example/"))
		if _, ok := f.Take(ctx); ok {
			s.Error("a page was handed out after the context had ended")
		}
		if left := f.State().Queued; left != 2 {
			s.Errorf("%d pages left, want 2: nothing is lost", left)
		}
	})
}

// Many workers find each page of a site several times. They fetch each page
// once, and only one page of a host at a time.
func TestManyWorkers(t *testing.T) {
	everyFrontier(t, func(s setting) {
		f := s.open(1000)
		f.Add(newPage(s, pageURL(0)))
		var mu sync.Mutex
		fetched, busy := make(map[string]int), make(map[string]bool)
		var workers sync.WaitGroup
		for range 16 {
			workers.Go(func() {
				for {
					p, ok := f.Take(s.Context())
					if !ok {
						return
					}
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
			})
		}
		workers.Wait()
		want := make(map[string]int)
		for n := range sitePages {
			want[pageURL(n)] = 1
		}
		if !maps.Equal(fetched, want) {
			s.Errorf("fetched %v, want each of %d pages once", fetched, sitePages)
		}
	})
}

// sitePages is how many pages the tests' site has, on five hosts. Each page
// links to three pages at most. All pages can be reached from page 0.
const sitePages = 60

func pageURL(n int) string { return fmt.Sprintf("http://host%d.example/%d", n%5, n) }

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
// which is no part of the page's URL. The queue keeps the names of the hosts,
// and not the links.
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
		t.Errorf("50 pages take %d bytes", grown)
	}
	if n := q.State().Queued; n != 50 {
		t.Errorf("%d pages are queued", n)
	}
}
