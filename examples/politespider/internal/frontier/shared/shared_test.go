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

// startRedis starts a server with these options of its command line.
func startRedis(t testing.TB, options ...string) *redisServer {
	t.Helper()
	return &redisServer{redisserver.Start(t, options...), t}
}

// do sends a command to the server.
func (s *redisServer) do(command ...any) {
	s.Helper()
	if err := s.client(&redis.UniversalOptions{}).Do(s.Context(), command...).Err(); err != nil {
		s.Fatal(err)
	}
}

// client returns a client of the server.
func (s *redisServer) client(opts *redis.UniversalOptions) redis.UniversalClient {
	opts.Addrs = []string{s.Addr}
	opts.MaxRetries = -1
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	if opts.ReadTimeout == 0 {
		opts.ReadTimeout = 10 * time.Second
	}
	client := redis.NewUniversalClient(opts)
	s.Cleanup(func() { client.Close() })
	return client
}

// openRedis opens a frontier on the server. It sets options that are zero.
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

// wantPage takes a page and checks its path.
func (r *Queue) wantPage(t testing.TB, path string) *frontier.Page {
	t.Helper()
	p, ok := r.Take(t.Context())
	if !ok {
		t.Fatalf("no page was handed out, want %s (state: %+v)", path, r.State())
	}
	if urlPath(p) != path {
		t.Fatalf("%s was handed out, want %s", p.URL, path)
	}
	return p
}

// wantNoPage checks that no page is left.
func (r *Queue) wantNoPage(t testing.TB) {
	t.Helper()
	if p, ok := r.Take(t.Context()); ok {
		t.Errorf("%s was handed out, want no page", p.URL)
	}
}

// wantState checks the state of the crawl.
func (r *Queue) wantState(t testing.TB, want frontier.State) {
	t.Helper()
	if got := r.State(); got != want {
		t.Errorf("state is %+v, want %+v", got, want)
	}
}

// wantError checks that an error begins with a text.
func wantError(t testing.TB, err error, prefix string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("error is %v, want one that begins with %q", err, prefix)
	}
}

// If a process dies while it has a page, another process takes over the page
// when the lease expires.
func TestTake_AfterLease(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 400 * time.Millisecond
	dead := openRedis(t, server, Options{Lease: lease})
	dead.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	start := time.Now()
	dead.wantPage(t, "/1")
	dead.die()

	live := openRedis(t, server, Options{Lease: lease})
	p := live.wantPage(t, "/1")
	if waited := time.Since(start); waited < lease-5*time.Millisecond { // Redis counts in milliseconds
		t.Errorf("page was taken over after %v, want at least %v", waited, lease)
	}
	live.Done(p, time.Now(), 0)
	live.Done(live.wantPage(t, "/2"), time.Now(), 0)
	live.wantNoPage(t)
	live.wantState(t, frontier.State{Spent: 2})
}

// A process dies while it has a page that had to wait until Page.Due. Another
// process takes the page over, even if the stream has earlier entries that were
// never handed out.
func TestTake_AfterLeaseAndDue(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 400 * time.Millisecond
	dead := openRedis(t, server, Options{Lease: lease})
	dead.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	first := dead.wantPage(t, "/1")
	due := time.Now().Add(time.Second) // long enough that a busy machine takes /2 before
	first.Due = due
	dead.PutBack(first, time.Now())
	second := dead.wantPage(t, "/2")
	time.Sleep(time.Until(due) + 20*time.Millisecond) // Redis counts in milliseconds
	dead.Add(newPage(t, "http://a.example/3"))
	dead.PutBack(second, time.Now())
	// /2 was not put off, so /1, whose Due has passed, is the next page.
	dead.Done(dead.wantPage(t, "/2"), time.Now(), 0)
	dead.wantPage(t, "/1")
	dead.die()

	live := openRedis(t, server, Options{Lease: lease})
	live.Done(live.wantPage(t, "/1"), time.Now(), 0)
	live.Done(live.wantPage(t, "/3"), time.Now(), 0)
	live.wantNoPage(t)
}

// A process keeps its page while it is alive, however long the page takes.
func TestTake_Heartbeat(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 3 * time.Second // a heartbeat may be late by up to two thirds of the lease
	slow := openRedis(t, server, Options{Lease: lease})
	slow.Add(newPage(t, "http://a.example/"))
	p := slow.wantPage(t, "/")

	other := openRedis(t, server, Options{Lease: lease})
	ctx, cancel := context.WithTimeout(t.Context(), 2*lease)
	defer cancel()
	if p, ok := other.Take(ctx); ok {
		t.Errorf("%s was taken over from a live process, want no page", p.URL)
	}
	slow.Done(p, time.Now(), 0)
	other.wantNoPage(t)
}

// A process that counted as dead may wake up. It cannot change the pages that
// other processes have taken over in the meantime.
func TestDone_AfterLease(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	const lease = 200 * time.Millisecond
	asleep := openRedis(t, server, Options{Lease: lease})
	asleep.Add(newPage(t, "http://a.example/"))
	lost := *asleep.wantPage(t, "/")
	asleep.mu.Lock()
	clear(asleep.leased) // without leased pages, the process sends no heartbeats
	asleep.mu.Unlock()

	other := openRedis(t, server, Options{Lease: lease})
	p := other.wantPage(t, "/")
	asleep.PutBack(&lost, time.Now())
	asleep.Done(&lost, time.Now(), 0)
	if state := asleep.State(); state.Queued != 0 || state.Out != 1 || state.Spent != 0 {
		t.Errorf("after the first process has given the page back, state is %+v, want 1 page out", state)
	}
	other.Done(p, time.Now(), 0)
	asleep.Done(&lost, time.Now(), 0)
	if state := asleep.State(); state.Out != 0 || state.Spent != 1 {
		t.Errorf("after both processes have given the page back, state is %+v, want 1 page spent", state)
	}
}

// No process ends before the crawl is over. A process that joins later learns
// that the crawl is over.
func TestTake_End(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	first := openRedis(t, server, Options{})
	second := openRedis(t, server, Options{})
	first.Add(newPage(t, "http://a.example/"))
	p := first.wantPage(t, "/")
	ended := make(chan frontier.State)
	go func() {
		second.Take(t.Context())
		ended <- second.State()
	}()
	select {
	case <-ended:
		t.Error("Take has ended, want it to wait while another process has a page")
	case <-time.After(3 * pollInterval):
	}
	first.Done(p, time.Now(), 0)
	want := frontier.State{Spent: 1}
	if state := <-ended; state != want {
		t.Errorf("when Take ended, state was %+v, want %+v", state, want)
	}

	late := openRedis(t, server, Options{})
	if n := late.Add(newPage(t, "http://a.example/")); n != 0 {
		t.Errorf("Add to a crawl that is over returned %d, want 0", n)
	}
	late.wantNoPage(t)
	late.wantState(t, want)
}

// Crawls with different names share nothing.
func TestOpen_TwoNames(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	a := openRedis(t, server, Options{Crawl: "a"})
	b := openRedis(t, server, Options{Crawl: "b"})
	a.Add(newPage(t, "http://a.example/"))
	b.wantNoPage(t)
}

// The error of Open describes the crawl that has the name already.
func TestOpen_OtherStart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	openRedis(t, server, Options{About: frontier.About{Start: []string{"http://a.example/"}}})
	_, err := Open(t.Context(), server.client(&redis.UniversalOptions{}), Options{
		Crawl: "crawl",
		About: frontier.About{Start: []string{"http://b.example/"}},
	})
	wantError(t, err, `the crawl in Redis under the name "crawl" is a different one: it began at http://a.example/`)
}

// While Redis is unreachable, the crawl waits. When Redis is reachable again,
// no page is lost.
func TestRedis_Outage(t *testing.T) {
	t.Parallel()
	server := startRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	for name, outage := range map[string]func(){
		"a stopped server": func() {
			server.Signal(sigstop)
			time.Sleep(500 * time.Millisecond)
			server.Signal(sigcont)
		},
		"a killed server": func() {
			server.Kill()
			time.Sleep(200 * time.Millisecond)
			server.Restart()
		},
		"a server without its scripts": func() { server.do("script", "flush") },
		"a server without memory": func() {
			server.do("config", "set", "maxmemory", "1")
			time.Sleep(300 * time.Millisecond)
			server.do("config", "set", "maxmemory", "0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := server.client(&redis.UniversalOptions{
				ReadTimeout: 200 * time.Millisecond,
				DialTimeout: 200 * time.Millisecond,
			})
			log := new(linesHandler)
			r := openRedisWith(t, client, Options{Crawl: name, Lease: 3 * time.Second, Logger: slog.New(log)})
			r.Add(newPage(t, pageURL(0)))
			fetched := make(chan string, 2*sitePages)
			var workers sync.WaitGroup
			for range 4 {
				workers.Go(func() { fetchAll(t, r, fetched) })
			}
			time.Sleep(100 * time.Millisecond)
			outage()
			workers.Wait()
			if n := len(fetched); n != sitePages {
				t.Errorf("%d pages were fetched, want %d", n, sitePages)
			}
			if err := r.State().Err; err != nil {
				t.Errorf("state has the error %v, want none", err)
			}
			log.checkOutages(t)
		})
	}
}

// fetchAll fetches pages of the tests' site until none is left, and sends their
// URLs to the channel.
func fetchAll(t *testing.T, r *Queue, fetched chan<- string) {
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
}

// A linesHandler is a log handler that keeps the messages.
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

// checkOutages checks that the messages report, in turn, the beginning and the
// end of an outage.
func (h *linesHandler) checkOutages(t *testing.T) {
	t.Helper()
	wants := []string{
		"Redis is unreachable; the crawl is paused",
		"Redis is reachable again; resuming the crawl",
	}
	for i, line := range h.lines {
		if want := wants[i%2]; line != want {
			t.Errorf("line %d of the log is %q, want %q", i, line, want)
		}
	}
	if len(h.lines)%2 != 0 {
		t.Errorf("log is %q, want the last line to be %q", h.lines, wants[1])
	}
}

// If Redis has lost the crawl, the crawl ends with an error and does not seem
// complete.
func TestRedis_Flushed(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := openRedis(t, server, Options{})
	r.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p := r.wantPage(t, "/1")
	server.do("flushall")
	r.Done(p, time.Now(), 0)
	r.wantNoPage(t)
	wantError(t, r.State().Err, `the crawl "crawl" in Redis: the data of the crawl is lost`)
}

// A host stays with the process that took the host's first page.
func TestTake_OwnHosts(t *testing.T) {
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
					t.Fatalf("no page was handed out, want one (error: %v)", r.State().Err)
				}
				if previous, ok := last[p.Host]; ok && previous != m {
					moves++
				}
				out[p] = m
				last[p.Host] = m
			}
		}
		for p, m := range out {
			members[m].Done(p, time.Now(), 0)
		}
	}
	if moves > hosts*pages/10 { // a host moves only if its process is late by a second
		t.Errorf("hosts moved between processes %d times, want at most %d", moves, hosts*pages/10)
	}
}

// If a process takes no more pages of a host, another process takes them after
// a second.
func TestTake_HostsOfOthers(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	first := openRedis(t, server, Options{})
	second := openRedis(t, server, Options{})
	first.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	first.Done(first.wantPage(t, "/1"), time.Now(), 0)
	start := time.Now()
	p := second.wantPage(t, "/2")
	if waited := time.Since(start); waited < 900*time.Millisecond {
		t.Errorf("page was handed out to the second process after %v, want after a second", waited)
	}
	second.Done(p, time.Now(), 0)
	second.wantNoPage(t)
	first.wantNoPage(t)
	client := server.client(&redis.UniversalOptions{})
	hostKeys := []string{first.keys()[4], second.keys()[4], first.keys()[2]}
	if n := client.Exists(t.Context(), hostKeys...).Val(); n != 0 {
		t.Errorf("%d of the keys %q exist at the end, want none", n, hostKeys)
	}
}

// startWithUser starts a server with an ACL user that has only the rights
// listed in the doc comment of Queue. It returns a function that opens a
// frontier as this user.
func startWithUser(t *testing.T) (open func(opts Options) *Queue) {
	t.Helper()
	server := startRedis(t)
	server.do("acl", "setuser", "bot", "on", ">secret", "~{politespider:*",
		"+eval", "+evalsha", "+time", "+exists", "+del", "+pexpire",
		"+hget", "+hmget", "+hset", "+hsetnx", "+hdel", "+hincrby",
		"+sadd", "+zadd", "+zrem", "+zrange", "+zrangebyscore", "+zscore", "+zcard",
		"+xgroup|create", "+xadd", "+xreadgroup", "+xrevrange", "+xautoclaim", "+xclaim", "+xpending",
		"+xack", "+xdel", "+xlen")
	return func(opts Options) *Queue {
		client := server.client(&redis.UniversalOptions{Username: "bot", Password: "secret"})
		return openRedisWith(t, client, opts)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	open := startWithUser(t)
	const lease = 150 * time.Millisecond
	opts := Options{Lease: lease, Limits: frontier.Limits{Refused: 1}}
	dead := open(opts)
	live := open(opts)
	dead.Add(newPage(t, "http://a.example/"), newPage(t, "http://b.example/"))
	dead.Take(t.Context())
	time.Sleep(lease) // time for a heartbeat
	dead.die()
	for range 3 {
		p, ok := live.Take(t.Context())
		switch {
		case !ok:
		case p.Puts == 0 && p.Host == "a.example":
			p.Puts++
			live.PutBack(p, time.Now())
		default:
			live.Done(p, time.Now(), 0)
		}
	}
	live.wantNoPage(t)
	live.wantState(t, frontier.State{Spent: 2})
}

func TestRights_Refuse(t *testing.T) {
	t.Parallel()
	r := startWithUser(t)(Options{Limits: frontier.Limits{Refused: 1}})
	r.Add(newPage(t, "http://a.example/"), newPage(t, "http://a.example/1"))
	r.Refuse(r.wantPage(t, "/"), time.Now(), 0)
	r.wantNoPage(t)
	if left := r.Ended()["a.example"]; left != 1 || r.State().Err != nil {
		t.Errorf("%d pages of a.example are left and state is %+v, want 1 page and no error", left, r.State())
	}
}

// The refusals of a host count toward the limit of every process, whichever
// process received them. A process with a higher limit continues the crawl of
// the host, and one without a limit fetches the other pages.
func TestRefuse(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	withLimit := func(n int) *Queue {
		return openRedis(t, server, Options{Limits: frontier.Limits{Refused: n}})
	}
	first := withLimit(2)
	second := withLimit(2)
	for n := range 6 {
		first.Add(newPage(t, fmt.Sprintf("http://a.example/%d", n)))
	}
	first.Refuse(first.wantPage(t, "/0"), time.Now(), 0)
	second.Refuse(second.wantPage(t, "/1"), time.Now(), 0)
	for _, process := range []*Queue{first, second} {
		process.wantNoPage(t)
		process.wantLeft(t, 4)
	}
	for _, run := range []struct{ limit, taken, left int }{
		{limit: 2, taken: 0, left: 4},
		{limit: 3, taken: 1, left: 3},
		{limit: 0, taken: 3, left: 0},
	} {
		process := withLimit(run.limit)
		taken := 0
		for {
			p, ok := process.Take(t.Context())
			if !ok {
				break
			}
			taken++
			process.Refuse(p, time.Now(), 0)
		}
		if taken != run.taken {
			t.Errorf("process with the limit %d took %d pages, want %d", run.limit, taken, run.taken)
		}
		process.wantLeft(t, run.left)
	}
	keys, err := server.client(&redis.UniversalOptions{}).Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	want := []string{"{politespider:crawl}:meta", "{politespider:crawl}:seen"}
	if !slices.Equal(keys, want) {
		t.Errorf("at the end, the keys in Redis are %q, want %q", keys, want)
	}
}

// wantLeft checks how many pages of a.example, whose crawl has ended, are left.
func (r *Queue) wantLeft(t testing.TB, want int) {
	t.Helper()
	left := r.Ended()["a.example"]
	if queued := r.State().Queued; left != want || queued != want {
		t.Errorf("Ended returned %d pages of a.example and State %d queued pages, want %d", left, queued, want)
	}
}

// If the user may not run scripts, the crawl ends with an error.
func TestRights_None(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	r := openRedis(t, server, Options{})
	r.Add(newPage(t, "http://a.example/"))
	server.do("acl", "setuser", "default", "-evalsha", "-eval")
	r.wantNoPage(t)
	if state := r.State(); state.Err == nil {
		t.Errorf("state is %+v, want one with an error", state)
	}
}

func TestOpen_NoServer(t *testing.T) {
	t.Parallel()
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, MaxRetries: -1})
	defer client.Close()
	_, err := Open(t.Context(), client, Options{Crawl: "crawl"})
	wantError(t, err, `join the crawl "crawl" in Redis: `)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Open returned the error %v, want %v", err, syscall.ECONNREFUSED)
	}
}

// After Ctrl-C, a process can still give its pages back, so that the other
// processes need not wait for its leases.
func TestPutBack_Interrupted(t *testing.T) {
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
	p := first.wantPage(t, "/")
	cancel()
	first.PutBack(p, time.Now())
	first.Close()
	start := time.Now()
	second.wantPage(t, "/")
	if waited := time.Since(start); waited > time.Minute/2 {
		t.Errorf("page was handed out after %v, want before the lease expires", waited)
	}
}

func TestOpen_OtherVersion(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.do("hset", "{politespider:crawl}:meta", "epoch", "1", "about", "[]")
	_, err := Open(t.Context(), server.client(&redis.UniversalOptions{}), Options{Crawl: "crawl"})
	wantError(t, err, `the crawl "crawl" in Redis was created by another version of this program; `+
		`use another crawl name: `)
}

func TestParsePage_InvalidJSON(t *testing.T) {
	_, err := parsePage([]any{"a.example", "1-0", "{"})
	wantError(t, err, "read a page of the crawl in Redis: ")
}

// Ctrl-C also ends a crawl that waits for Redis.
func TestPutBack_InterruptedOutage(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	ctx, ctrlC := context.WithCancel(t.Context())
	messages := make(linesChannel, 1)
	r, err := Open(ctx, server.client(&redis.UniversalOptions{}), Options{
		Crawl:  "crawl",
		Limits: frontier.Limits{Pages: 10},
		Lease:  300 * time.Millisecond,
		Logger: slog.New(messages),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Add(newPage(t, "http://a.example/"))
	p, _ := r.Take(ctx)
	server.Kill()
	const want = "Redis is unreachable"
	if message := <-messages; !strings.HasPrefix(message, want) { // only the heartbeat calls Redis here
		t.Errorf("log message is %q, want one that begins with %q", message, want)
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
		t.Fatal("PutBack waits for Redis, want it to return after Ctrl-C")
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
