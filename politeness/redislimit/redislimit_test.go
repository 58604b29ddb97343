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
			t.Errorf("%s: New = %v, %v; want nil and an error", name, f, err)
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
		t.Errorf("error %v, want an *AwayError whose Since is at most a minute ago", err)
	}
	if delay, ok := errors.AsType[*politeness.DelayError](err); !ok || time.Until(delay.Until) > 2*time.Second {
		t.Errorf("Acquire without Redis: error %v, want a *politeness.DelayError until at most 2s from now", err)
	}
	f.Close()
	if said := err.Error() + logged.String(); strings.Contains(said, "hunter2") || strings.Contains(said, "mallory") {
		t.Errorf("the error and the log are\n%s\nwant neither the user name nor the password in them", said)
	}
	if n := strings.Count(logged.String(), "does not answer"); n != 1 {
		t.Errorf("%q is logged %d times, want once: %s", "does not answer", n, logged.String())
	}
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// A second Limiter on one Fleet gets an error at once, and the first goes on.
func TestFleet_SecondLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFleet(t)
		a := f.join(&politeness.Limiter{})
		a.request(host, ok200)
		began := time.Now()
		_, err := (&politeness.Limiter{Fleet: a.Fleet}).Acquire(context.Background(), &url.URL{Host: "shop.example"})
		if d, is := errors.AsType[*politeness.DelayError](err); !is || !errors.Is(err, errShared) || d.Reason != politeness.ReasonFleet || time.Since(began) > time.Second {
			t.Errorf("Acquire of the second Limiter: error %v after %v, want a DelayError at once that wraps %q", err, time.Since(began), errShared)
		}
		if waited, err := a.tryRequest(host, time.Minute, ok200); err != nil || waited > time.Second {
			t.Errorf("the first Limiter waited %v, error %v; want at most 1s and none", waited, err)
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
			f.Errorf("error %v, want a DelayError", err)
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
