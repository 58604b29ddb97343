package redislimit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
)

// Crawls against real servers are in integration_test.

func TestMain(m *testing.M) {
	// In a synctest bubble, all timers share one context of the race detector.
	// If two processors run such timers at the same time, the race detector of
	// Go 1.26 crashes. The bubbles of this package have many timers.
	runtime.GOMAXPROCS(1)
	testmain.Quiet()
	testmain.Parallel(32)
	goleak.VerifyTestMain(m)
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	client := redis.NewUniversalClient(&redis.UniversalOptions{})
	defer client.Close()
	for name, try := range map[string]func() (*Fleet, error){
		"no client":        func() (*Fleet, error) { return New(nil, Options{}) },
		"a brace":          func() (*Fleet, error) { return New(client, Options{Namespace: "a}b"}) },
		"a key pattern":    func() (*Fleet, error) { return New(client, Options{Namespace: "a*"}) },
		"white space":      func() (*Fleet, error) { return New(client, Options{Namespace: "a b"}) },
		"negative Timeout": func() (*Fleet, error) { return New(client, Options{Timeout: -1}) },
		"a long Timeout":   func() (*Fleet, error) { return New(client, Options{Timeout: 5 * time.Second}) },
		"a short Lease":    func() (*Fleet, error) { return New(client, Options{Lease: time.Second}) },
	} {
		if f, err := try(); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// Neither the log nor an error contains the user name or the password.
func TestErrorsAndLogsNameNoSecret(t *testing.T) {
	t.Parallel()
	redis.SetLogger(quiet{})
	options, err := redis.ParseURL("redis://mallory:hunter2@127.0.0.1:1/0")
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries = -1
	client := redis.NewClient(options)
	defer client.Close()
	var logged bytes.Buffer
	f, err := New(client, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l := &politeness.Limiter{Fleet: f}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	_, err = l.Acquire(ctx, &url.URL{Host: "example.com"})
	away, ok := errors.AsType[*AwayError](err)
	if !ok || time.Since(away.Since) > time.Minute {
		t.Errorf("%v, want an *AwayError", err)
	}
	if delay, ok := errors.AsType[*politeness.DelayError](err); !ok || time.Until(delay.Until) > 2*time.Second {
		t.Errorf("%v is no *politeness.DelayError", err)
	}
	f.Close()
	if said := err.Error() + logged.String(); strings.Contains(said, "hunter2") || strings.Contains(said, "mallory") {
		t.Error(said)
	}
	if n := strings.Count(logged.String(), "does not answer"); n != 1 {
		t.Errorf("logged %d times: %s", n, logged.String())
	}
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// refusing is a server that refuses all scripts.
type refusing struct{ said refusalText }

type refusalText string

func (r refusalText) Error() string { return string(r) }
func (r refusalText) RedisError()   {}

func (r refusing) run(context.Context, []any) ([]any, error) {
	return nil, r.said
}
func (r refusing) subscribe(context.Context, string, func(string)) error { return nil }

// If trying again cannot help, the error is returned at once, and is logged
// once.
func TestServersThatWillNotDo(t *testing.T) {
	for said, want := range map[refusalText]string{
		"ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'":             "too old",
		"NOPERM this user has no permissions to run the 'eval' command":                                    "lacks a permission",
		"ERR The user executing the script can't run this command or subcommand script: 400161":            "lacks a permission",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                "namespace",
		"ERR unknown command 'EVALSHA', with args beginning with: '1' '2' ":                                "'EVALSHA'",
		"ERR Unknown Redis command called from script script: 1, on @user_script:1.":                       "called from script",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist on disk.": "unable to persist on disk",
		"READONLY You can't write against a read only replica.":                                            "read only replica",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":           "busy running a script",
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				f, err := newFleet(refusing{said}, "{test}", Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				l := &politeness.Limiter{Fleet: f}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				_, err = l.Acquire(ctx, &url.URL{Host: "example.com"})
				if err == nil || !strings.Contains(err.Error(), want) || time.Since(began) != 0 {
					t.Errorf("%v after %v, want %q at once", err, time.Since(began), want)
				}
				time.Sleep(time.Minute)
				if n := strings.Count(logged.String(), want); n != 1 {
					t.Errorf("logged %d times: %s", n, &logged)
				}
				if text := logged.String(); !strings.Contains(text, "level=ERROR") || strings.Contains(text+err.Error(), "answer") {
					t.Errorf("%v; the log is\n%s", err, text)
				}
			})
		})
	}
}

// When no host is needed any more, no goroutine runs, even if Redis is away.
func TestNothingRunsWithoutRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &link{memory: new(memory)}
		f, err := newFleet(link, "{test}", Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := &politeness.Limiter{Fleet: f}
		g, err := l.Acquire(t.Context(), &url.URL{Host: "example.com"})
		if err != nil {
			t.Fatal(err)
		}
		link.sever(true)
		g.Done(politeness.Outcome{Status: 200})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, &url.URL{Host: "other.example"}); err == nil {
			t.Error("a host without Redis")
		}
		time.Sleep(time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.done != nil {
			t.Error("something goes on")
		}
	})
}

// A second Limiter on one Fleet gets an error at once, and the first goes on.
func TestFleet_SecondLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		a.request(host, ok200)
		began := time.Now()
		_, err := (&politeness.Limiter{Fleet: a.Fleet}).Acquire(context.Background(), &url.URL{Host: "shop.example"})
		if d, is := errors.AsType[*politeness.DelayError](err); !is || !errors.Is(err, errShared) || d.Reason != politeness.ReasonFleet || time.Since(began) > time.Second {
			t.Errorf("after %v: %v, want a DelayError that names the two Limiters", time.Since(began), err)
		}
		if waited, err := a.tryRequest(host, time.Minute, ok200); err != nil || waited > time.Second {
			t.Errorf("the first Limiter waits %v: %v", waited, err)
		}
	})
}

// The same in Redis: the second Limiter gets no host.
func TestFleet_SecondLimiterGetsNoHost(t *testing.T) {
	runFleetTest(t, func(f *testFleet) {
		a := f.join(&politeness.Limiter{Delay: shortDelay})
		g := a.begin(f.Context(), host)
		defer g.Done(ok200)
		ctx, cancel := context.WithTimeout(f.Context(), quick)
		defer cancel()
		second := &politeness.Limiter{Delay: shortDelay, Fleet: a.Fleet}
		if _, err := second.Acquire(ctx, page(host)); !errors.Is(err, context.DeadlineExceeded) {
			f.Errorf("%v, want a DelayError", err)
		}
	})
}

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 []string{"127.0.0.1:6379"},
		ContextTimeoutEnabled: true,
	})
	defer client.Close()
	fleet, err := New(client, Options{Namespace: "mybot"})
	if err != nil {
		log.Fatal(err)
	}
	defer fleet.Close() // so that other members can have its hosts at once
	paced := &http.Client{Transport: &politeness.Transport{Limiter: &politeness.Limiter{Fleet: fleet}}}
	fmt.Println(paced.Timeout) // a wait for a host is not limited
	// Output: 0s
}
