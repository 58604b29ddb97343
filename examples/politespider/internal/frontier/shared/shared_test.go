package shared

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
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

// A redisServer is a server for one test.
type redisServer struct {
	*redisserver.Server
	testing.TB
}

func startRedis(t testing.TB, options ...string) *redisServer {
	t.Helper()
	return &redisServer{redisserver.Start(t, options...), t}
}

func (s *redisServer) do(command ...any) {
	s.Helper()
	if err := s.client(&redis.UniversalOptions{}).Do(s.Context(), command...).Err(); err != nil {
		s.Fatal(err)
	}
}

func (s *redisServer) client(opts *redis.UniversalOptions) redis.UniversalClient {
	opts.Addrs = []string{s.Addr}
	opts.MaxRetries, opts.ContextTimeoutEnabled, opts.DisableIdentity = -1, true, true
	if opts.ReadTimeout == 0 {
		opts.ReadTimeout = 10 * time.Second
	}
	client := redis.NewUniversalClient(opts)
	s.Cleanup(func() { client.Close() })
	return client
}

func openRedis(t testing.TB, server *redisServer, opts Options) *Queue {
	t.Helper()
	return openRedisWith(t, server.client(&redis.UniversalOptions{}), opts)
}

func openRedisWith(t testing.TB, client redis.UniversalClient, opts Options) *Queue {
	t.Helper()
	if opts.Crawl == "" {
		opts.Crawl = "crawl"
	}
	if opts.Limits.Pages == 0 {
		opts.Limits.Pages = 1000
	}
	if opts.Lease == 0 {
		opts.Lease = 15 * time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := Open(t.Context(), client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// die ends a process's part in a crawl, but does not give its pages back.
func (r *Queue) die() { r.Close() }

// If a process dies while it has a page, another process takes over the page
// when the lease is over.
func TestRedis_TakesOver(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 400 * time.Millisecond
	dead := openRedis(t, server, Options{Lease: lease})
	dead.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	start := time.Now()
	held, _ := dead.Take(t.Context())
	dead.die()

	live := openRedis(t, server, Options{Lease: lease})
	p, ok := live.Take(t.Context())
	if !ok || p.URL != held.URL {
		t.Fatalf("%v, %t; want what the dead process held", p, ok)
	}
	if time.Since(start) < lease-5*time.Millisecond { // Redis counts in milliseconds
		t.Errorf("it was taken over after %v already", time.Since(start))
	}
	live.Done(p, time.Now(), 0)
	if p, ok := live.Take(t.Context()); !ok || urlPath(p) != "/2" {
		t.Fatalf("%v, %t; want the next page", p, ok)
	} else {
		live.Done(p, time.Now(), 0)
	}
	if p, ok := live.Take(t.Context()); ok {
		t.Errorf("%v; want the end", p.URL)
	}
	if state := live.State(); state != (frontier.State{Spent: 2}) {
		t.Errorf("%+v", state)
	}
}

// A process dies while it has a page that had to wait until Page.Due. Another
// process takes the page over, even if the stream has earlier entries that were
// never handed out.
func TestRedis_TakesOverWhatWaited(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 400 * time.Millisecond
	dead := openRedis(t, server, Options{Lease: lease})
	dead.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p, _ := dead.Take(t.Context())
	due := time.Now().Add(time.Second) // long enough that a busy machine takes /2 before
	p.Due = due
	dead.PutBack(p, time.Now())
	if p, _ = dead.Take(t.Context()); urlPath(p) != "/2" {
		t.Fatalf("%s was handed out, want what does not wait", p.URL)
	}
	time.Sleep(time.Until(due) + 20*time.Millisecond) // Redis counts in milliseconds
	dead.Add(newPage(t, "http://a.example/3"))
	dead.PutBack(p, time.Now())
	dead.Done(mustTake(t, dead, "/2"), time.Now(), 0) // the latest page was not put off, so a page whose Due is over comes next
	mustTake(t, dead, "/1")
	dead.die()
	alive := openRedis(t, server, Options{Lease: lease})
	var got []string
	for {
		p, ok := alive.Take(t.Context())
		if !ok {
			break
		}
		got = append(got, urlPath(p))
		alive.Done(p, time.Now(), 0)
	}
	if want := []string{"/1", "/3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func mustTake(t *testing.T, r *Queue, path string) *frontier.Page {
	t.Helper()
	p, ok := r.Take(t.Context())
	if !ok || urlPath(p) != path {
		t.Fatalf("%v was handed out, want %s", p, path)
	}
	return p
}

// While a process is alive, it keeps its page, however long the page takes.
func TestRedis_LongWait(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 3 * time.Second // a heartbeat may be late by up to two thirds of the lease
	slow := openRedis(t, server, Options{Lease: lease})
	slow.Add(newPage(t, "http://a.example/"))
	p, _ := slow.Take(t.Context())

	other := openRedis(t, server, Options{Lease: lease})
	ctx, cancel := context.WithTimeout(t.Context(), 2*lease)
	defer cancel()
	if p, ok := other.Take(ctx); ok {
		t.Errorf("%v was taken from a process that lives", p.URL)
	}
	slow.Done(p, time.Now(), 0)
	if _, ok := other.Take(t.Context()); ok {
		t.Error("a page that was done was handed out")
	}
}

// A process that counted as dead may wake up. It cannot change the pages that
// other processes have taken over meanwhile.
func TestRedis_TakenOver(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 200 * time.Millisecond
	asleep := openRedis(t, server, Options{Lease: lease})
	asleep.Add(newPage(t, "http://a.example/"))
	p, _ := asleep.Take(t.Context())
	lost := *p
	asleep.mu.Lock()
	clear(asleep.leased) // without leased pages, the process sends no heartbeats
	asleep.mu.Unlock()

	other := openRedis(t, server, Options{Lease: lease})
	taken, ok := other.Take(t.Context())
	if !ok {
		t.Fatal("it was not taken over")
	}
	asleep.PutBack(&lost, time.Now())
	asleep.Done(&lost, time.Now(), 0)
	if state := asleep.State(); state.Queued != 0 || state.Out != 1 || state.Spent != 0 {
		t.Errorf("after the first gave it back: %+v", state)
	}
	other.Done(taken, time.Now(), 0)
	asleep.Done(&lost, time.Now(), 0)
	if state := asleep.State(); state.Out != 0 || state.Spent != 1 {
		t.Errorf("at the end: %+v", state)
	}
}

// No process ends before the crawl is over. A process that joins later learns
// that the crawl is over.
func TestRedis_End(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	first, second := openRedis(t, server, Options{}), openRedis(t, server, Options{})
	first.Add(newPage(t, "http://a.example/"))
	p, _ := first.Take(t.Context())
	ended := make(chan frontier.State)
	go func() {
		second.Take(t.Context())
		ended <- second.State()
	}()
	select {
	case <-ended:
		t.Error("a process left while another had a page out")
	case <-time.After(3 * pollInterval):
	}
	first.Done(p, time.Now(), 0)
	if state := <-ended; state != (frontier.State{Spent: 1}) {
		t.Errorf("it left at %+v", state)
	}

	late := openRedis(t, server, Options{})
	if late.Add(newPage(t, "http://a.example/")) != 0 {
		t.Error("a crawl that was over began again")
	}
	if _, ok := late.Take(t.Context()); ok || late.State().Spent != 1 {
		t.Errorf("%+v", late.State())
	}
}

func TestRedis_NamesApart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	a, b := openRedis(t, server, Options{Crawl: "a"}), openRedis(t, server, Options{Crawl: "b"})
	a.Add(newPage(t, "http://a.example/"))
	if _, ok := b.Take(t.Context()); ok {
		t.Error("a page of another crawl")
	}
}

func TestRedis_AnotherCrawl(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	openRedis(t, server, Options{About: frontier.About{Start: []string{"http://a.example/"}}})
	_, err := Open(t.Context(), server.client(&redis.UniversalOptions{}), Options{
		Crawl: "crawl",
		About: frontier.About{Start: []string{"http://b.example/"}},
	})
	if err == nil || !strings.Contains(err.Error(), `in Redis under the name "crawl" is a different one: it began at http://a.example/`) {
		t.Errorf("%v; want one that says what the crawl is of", err)
	}
}

// While Redis is away, the crawl waits. When Redis is back, no page is lost.
func TestRedis_Away(t *testing.T) {
	t.Parallel()
	server := startRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	for name, away := range map[string]func(t *testing.T){
		"stopped": func(t *testing.T) {
			server.Signal(sigstop)
			time.Sleep(500 * time.Millisecond)
			server.Signal(sigcont)
		},
		"killed": func(t *testing.T) {
			server.Kill()
			time.Sleep(200 * time.Millisecond)
			server.Restart()
		},
		"without its scripts": func(t *testing.T) { server.do("script", "flush") },
		"full": func(t *testing.T) {
			server.do("config", "set", "maxmemory", "1")
			time.Sleep(300 * time.Millisecond)
			server.do("config", "set", "maxmemory", "0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(linesHandler)
			r := openRedisWith(t, server.client(&redis.UniversalOptions{
				ReadTimeout: 200 * time.Millisecond,
				DialTimeout: 200 * time.Millisecond,
			}),
				Options{Crawl: name, Lease: 3 * time.Second, Logger: slog.New(log)})
			r.Add(newPage(t, pageURL(0)))
			var workers sync.WaitGroup
			fetched := make(chan string, 2*sitePages)
			for range 4 {
				workers.Go(func() {
					for {
						p, ok := r.Take(t.Context())
						if !ok {
							return
						}
						fetched <- p.URL
						r.Add(newLinks(t, p)...)
						time.Sleep(20 * time.Millisecond)
						r.Done(p, time.Now(), 0)
					}
				})
			}
			time.Sleep(100 * time.Millisecond)
			away(t)
			workers.Wait()
			if n := len(fetched); n != sitePages {
				t.Errorf("%d pages, want %d", n, sitePages)
			}
			if err := r.State().Err; err != nil {
				t.Error(err)
			}
			for i, line := range log.lines {
				if want := []string{
					"Redis is unreachable; the crawl is paused",
					"Redis is reachable again; resuming the crawl",
				}[i%2]; line != want {
					t.Errorf("line %d of the log is %q, want %q", i, line, want)
				}
			}
			if len(log.lines)%2 != 0 {
				t.Error("the log does not say that Redis is back")
			}
		})
	}
}

type linesHandler struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (h *linesHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *linesHandler) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, r.Message)
	return nil
}

// If Redis has lost the crawl, the crawl ends with an error and does not seem
// complete.
func TestRedis_Flushed(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := openRedis(t, server, Options{})
	r.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p, _ := r.Take(t.Context())
	server.do("flushall")
	r.Done(p, time.Now(), 0)
	if _, ok := r.Take(t.Context()); ok {
		t.Error("a page out of nowhere")
	}
	if err := r.State().Err; err == nil || !strings.HasPrefix(err.Error(), `the crawl "crawl" in Redis: the data of the crawl is lost`) {
		t.Errorf("%v; want one that says what happened", err)
	}
}

// A host stays with the process that took the host's first page.
func TestRedis_DrawsItsOwnHostsFirst(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const hosts, pages = 6, 20
	members := []*Queue{openRedis(t, server, Options{}), openRedis(t, server, Options{})}
	for n := range hosts * pages {
		members[0].Add(newPage(t, fmt.Sprintf("http://host%d.example/%d", n%hosts, n)))
	}
	last := make(map[string]int)
	moves := 0
	for range pages {
		out := make(map[*frontier.Page]int)
		for range hosts / 2 {
			for m, r := range members {
				p, ok := r.Take(t.Context())
				if !ok {
					t.Fatal(r.State().Err)
				}
				if was, ok := last[p.Host]; ok && was != m {
					moves++
				}
				out[p], last[p.Host] = m, m
			}
		}
		for p, m := range out { // in any order, as this is a map
			members[m].Done(p, time.Now(), 0)
		}
	}
	if moves > hosts*pages/10 { // a host moves only if its process is late by a second
		t.Errorf("of %d draws, %d were of a host that another process had before", hosts*pages, moves)
	}
}

// If a process takes no more pages of a host, another process takes them after
// a second.
func TestRedis_DrawsHostsOfOthers(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	first, second := openRedis(t, server, Options{}), openRedis(t, server, Options{})
	first.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p, _ := first.Take(t.Context())
	first.Done(p, time.Now(), 0)
	start := time.Now()
	p, ok := second.Take(t.Context())
	if took := time.Since(start); !ok || took < 900*time.Millisecond {
		t.Errorf("%t after %v: the first should have had a second for it", ok, took)
	}
	second.Done(p, time.Now(), 0)
	for _, r := range []*Queue{second, first} {
		if p, ok := r.Take(t.Context()); ok {
			t.Errorf("another page: %v", p.URL)
		}
	}
	if n := server.client(&redis.UniversalOptions{}).Exists(t.Context(), first.keys()[4], second.keys()[4], first.keys()[2]).Val(); n != 0 {
		t.Errorf("%d keys are left of hosts", n)
	}
}

// A crawl works with an ACL user that has only the rights listed in the doc
// comment of Redis.
func TestRedis_NeedsFewRights(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do("acl", "setuser", "bot", "on", ">secret", "~{politespider:*",
		"+eval", "+evalsha", "+time", "+exists", "+del", "+pexpire",
		"+hget", "+hmget", "+hset", "+hsetnx", "+hincrby", "+sadd", "+zadd", "+zrem", "+zrange", "+zrangebyscore", "+zscore", "+zcard",
		"+xgroup|create", "+xadd", "+xreadgroup", "+xautoclaim", "+xclaim", "+xpending", "+xack", "+xdel", "+xrevrange", "+hdel", "+xlen")
	const lease = 150 * time.Millisecond
	as := func() *Queue {
		return openRedisWith(t, server.client(&redis.UniversalOptions{Username: "bot", Password: "secret"}), Options{
			Lease:  lease,
			Limits: frontier.Limits{Refused: 1},
		})
	}
	dead, live := as(), as()
	dead.Add(newPage(t, "http://a.example/"), newPage(t, "http://b.example/"))
	dead.Take(t.Context())
	time.Sleep(lease) // time for a heartbeat
	dead.die()
	for range 3 {
		if p, ok := live.Take(t.Context()); ok && p.Puts == 0 && p.Host == "a.example" {
			p.Puts++
			live.PutBack(p, time.Now())
		} else if ok {
			live.Done(p, time.Now(), 0)
		}
	}
	if _, ok := live.Take(t.Context()); ok || live.State() != (frontier.State{Spent: 2}) {
		t.Errorf("%+v", live.State())
	}

	live = openRedisWith(t, server.client(&redis.UniversalOptions{Username: "bot", Password: "secret"}), Options{
		Crawl:  "refusing",
		Limits: frontier.Limits{Refused: 1},
	})
	live.Add(newPage(t, "http://a.example/"), newPage(t, "http://a.example/1"))
	p, _ := live.Take(t.Context())
	live.Refuse(p, time.Now(), 0)
	if _, ok := live.Take(t.Context()); ok || live.Ended()["a.example"] != 1 || live.State().Err != nil {
		t.Errorf("%v, %+v", live.Ended(), live.State())
	}
}

// The pages that a host refuses to all processes count together. A process with
// a higher limit goes on with the host, and one without a limit fetches the
// rest.
func TestRedis_Refused(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	limited := func(n int) *Queue { return openRedis(t, server, Options{Limits: frontier.Limits{Refused: n}}) }
	first, second := limited(2), limited(2)
	for n := range 6 {
		first.Add(newPage(t, fmt.Sprintf("http://a.example/%d", n)))
	}
	for n, process := range []*Queue{first, second} {
		p, ok := process.Take(t.Context())
		if !ok || urlPath(p) != fmt.Sprintf("/%d", n) {
			t.Fatalf("%v, %t; want page %d", p, ok, n)
		}
		process.Refuse(p, time.Now(), 0)
	}
	for _, process := range []*Queue{first, second} {
		if p, ok := process.Take(t.Context()); ok || process.Ended()["a.example"] != 4 || process.State().Queued != 4 {
			t.Errorf("%v, %t, %v, %+v; want the end, with 4 pages left",
				p, ok, process.Ended(), process.State())
		}
	}
	for _, run := range []struct{ limit, taken, left int }{{2, 0, 4}, {3, 1, 3}, {0, 3, 0}} {
		process := limited(run.limit)
		taken := 0
		for {
			p, ok := process.Take(t.Context())
			if !ok {
				break
			}
			taken++
			process.Refuse(p, time.Now(), 0)
		}
		if taken != run.taken || process.Ended()["a.example"] != run.left || process.State().Queued != run.left {
			t.Errorf("at a limit of %d: %d pages, %v, %+v; want %d, and %d left",
				run.limit, taken, process.Ended(), process.State(), run.taken, run.left)
		}
	}
	keys, err := server.client(&redis.UniversalOptions{}).Keys(t.Context(), "*").Result()
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{
		"{politespider:crawl}:meta",
		"{politespider:crawl}:seen",
	}) {
		t.Errorf("after the end, Redis has %q (%v)", keys, err)
	}
}

func TestRedis_NoRights(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := openRedis(t, server, Options{})
	r.Add(newPage(t, "http://a.example/"))
	server.do("acl", "setuser", "default", "-evalsha", "-eval")
	if _, ok := r.Take(t.Context()); ok || r.State().Err == nil {
		t.Errorf("%t, %+v", ok, r.State())
	}
}

func TestRedis_NobodyThere(t *testing.T) {
	t.Parallel()
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, MaxRetries: -1})
	defer client.Close()
	if _, err := Open(t.Context(), client, Options{Crawl: "crawl"}); !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), `join the crawl "crawl" in Redis: `) {
		t.Errorf("%v", err)
	}
}

// After Ctrl-C, a process can still give its pages back. So the other processes
// need not wait for its leases.
func TestRedis_Interrupted(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := Open(ctx, server.client(&redis.UniversalOptions{}), Options{
		Crawl:  "crawl",
		Limits: frontier.Limits{Pages: 10},
		Lease:  time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	second := openRedis(t, server, Options{})
	first.Add(newPage(t, "http://a.example/"))
	p, _ := first.Take(ctx)
	cancel()
	first.PutBack(p, time.Now())
	first.Close()
	start := time.Now()
	if _, ok := second.Take(t.Context()); !ok || time.Since(start) > time.Minute/2 {
		t.Errorf("%t after %v", ok, time.Since(start))
	}
}

func TestRedis_AnotherVersion(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do("hset", "{politespider:crawl}:meta", "epoch", "1", "about", "[]")
	_, err := Open(t.Context(), server.client(&redis.UniversalOptions{}), Options{Crawl: "crawl"})
	if want := `the crawl "crawl" in Redis was created by another version of this program; use another crawl name: `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestParsePage_Broken(t *testing.T) {
	if _, err := parsePage([]any{"a.example", "1-0", "{"}); err == nil || !strings.HasPrefix(err.Error(), "read a page of the crawl in Redis: ") {
		t.Errorf("%v", err)
	}
}

// Ctrl-C also ends a crawl that waits for Redis.
func TestRedis_InterruptedWhileAway(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	ctx, ctrlC := context.WithCancel(t.Context())
	away := make(linesChannel, 1)
	r, err := Open(ctx, server.client(&redis.UniversalOptions{}), Options{
		Crawl:  "crawl",
		Limits: frontier.Limits{Pages: 10},
		Lease:  300 * time.Millisecond,
		Logger: slog.New(away),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Add(newPage(t, "http://a.example/"))
	p, _ := r.Take(ctx)
	server.Kill()
	if line := <-away; !strings.HasPrefix(line, "Redis is unreachable") { // only the heartbeat calls Redis here
		t.Errorf("the log says %q", line)
	}
	ctrlC()
	ended := make(chan struct{})
	go func() {
		r.PutBack(p, time.Now())
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it still waits for Redis")
	}
}

// linesChannel is a log handler that sends each message to the channel. While
// the channel is full, it drops messages.
type linesChannel chan string

func (c linesChannel) Enabled(context.Context, slog.Level) bool { return true }
func (c linesChannel) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c linesChannel) WithGroup(string) slog.Handler            { return c }
func (c linesChannel) Handle(_ context.Context, r slog.Record) error {
	select {
	case c <- r.Message:
	default:
	}
	return nil
}

func BenchmarkRedis(b *testing.B) {
	server := startRedis(b)
	r := openRedis(b, server, Options{Limits: frontier.Limits{Pages: 1 << 30}})
	ctx := b.Context()
	n := 0
	for b.Loop() {
		n++
		r.Add(newPage(b, pageURL(n)))
		p, ok := r.Take(ctx)
		if !ok {
			b.Fatal(r.State().Err)
		}
		r.Done(p, time.Now(), 0)
	}
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
