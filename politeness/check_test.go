package politeness_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

var errUnwanted = errors.New("it is no longer wanted")

func unwanted(context.Context) error { return errUnwanted }

// A request that is no longer wanted when it may start is not made, and
// the next request of its host starts at once.
func ExampleWithCheck() {
	limiter := &politeness.Limiter{Delay: time.Hour}
	u := &url.URL{Scheme: "https", Host: "www.example.com"}
	ctx := politeness.WithCheck(context.Background(), func(context.Context) error {
		return errors.New("the page is known already")
	})
	_, err := limiter.Acquire(ctx, u)
	fmt.Println(err)

	grant, err := limiter.Acquire(context.Background(), u) // the hour has not begun
	fmt.Println(err)
	grant.Done(politeness.Outcome{})
	// Output:
	// politeness: the request to www.example.com is not made: the page is known already
	// <nil>
}

// atOnce returns a Limiter for Within that lets n requests be in flight to all
// hosts together.
func atOnce(n int) *politeness.Limiter {
	one := func(context.Context, *url.URL) (string, error) { return "all", nil }
	return &politeness.Limiter{Delay: -1, Concurrency: n, Key: one}
}

func TestWithCheck_FailedCheckUsesNothing(t *testing.T) {
	tests := map[string]*politeness.Limiter{
		"Delay":          {Delay: time.Hour},
		"Concurrency":    {Delay: -1},
		"EndToStart":     {Delay: time.Hour, EndToStart: true},
		"Within":         {Delay: -1, Within: &politeness.Limiter{Delay: time.Hour, Key: politeness.DomainKey}},
		"Within for all": {Delay: -1, Concurrency: -1, Within: atOnce(1)},
		"GlobalRate":     {Delay: -1, Concurrency: -1, GlobalRate: rate.NewLimiter(rate.Every(time.Hour), 1)},
		"Budget":         {Delay: -1, Budget: politeness.Budget{Requests: 1}},
		"MaxWait":        {Delay: time.Hour, MaxWait: -1},
	}
	for name, l := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &url.URL{Scheme: "http", Host: "www.example.com"}
				start := time.Now()
				for range 5 {
					time.Sleep(time.Second)
					if g, err := l.Acquire(politeness.WithCheck(t.Context(), unwanted), u); !errors.Is(err, errUnwanted) || g != nil {
						t.Fatalf("Acquire = %v, %v; want nil, %v", g, err, errUnwanted)
					}
				}
				g, err := l.Acquire(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != 5*time.Second {
					t.Errorf("the next request started after %v, want 5s", took)
				}
				g.Done(politeness.Outcome{})
				if s := l.Stats(); s.Waiting != 0 || s.InFlight != 0 {
					t.Errorf("Stats() = %+v, want none waiting or in flight", s)
				}
			})
		})
	}
}

// 1,000 requests wait, and all but the last are unwanted when the first may
// start.
func TestWithCheck_ThoseBehindStartAtOnce(t *testing.T) {
	for _, l := range []*politeness.Limiter{
		{Delay: 10 * time.Second},
		{Delay: 10 * time.Second, GlobalRate: rate.NewLimiter(1, 1)},
		{Delay: 10 * time.Second, Within: &politeness.Limiter{Delay: 10 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &url.URL{Scheme: "http", Host: "www.example.com"}
			first, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Done(politeness.Outcome{})
			start := time.Now()
			time.AfterFunc(time.Second, func() { first.Done(politeness.Outcome{}) })
			var failed atomic.Int32
			for range 1000 {
				go func() {
					if _, err := l.Acquire(politeness.WithCheck(t.Context(), unwanted), u); errors.Is(err, errUnwanted) {
						failed.Add(1)
					}
				}()
			}
			synctest.Wait()
			last, err := l.Acquire(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if took := time.Since(start); took != 10*time.Second || failed.Load() != 1000 {
				t.Errorf("%d requests failed their check, and the last one started after %v; want 1000 and 10s", failed.Load(), took)
			}
			last.Done(politeness.Outcome{})
		})
	}
}

func TestWithCheck_CalledWhenTheRequestMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Delay: 10 * time.Second}
		u := &url.URL{Scheme: "http", Host: "www.example.com"}
		start := time.Now()
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "the request's context")
		var calls []time.Duration
		ctx = politeness.WithCheck(ctx, func(ctx context.Context) error {
			if ctx.Value(key{}) == nil {
				t.Error("check received a context without the value of the request's context")
			}
			l.Stats() // no lock is held
			calls = append(calls, time.Since(start))
			return nil
		})
		for range 3 {
			g, err := l.Acquire(ctx, u)
			if err != nil {
				t.Fatal(err)
			}
			g.Done(politeness.Outcome{})
		}
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second}; !slices.Equal(calls, want) {
			t.Errorf("check was called after %v, want %v", calls, want)
		}
	})
}

func TestWithCheck_ChecksAddUp(t *testing.T) {
	var calls []string
	step := func(name string, err error) func(context.Context) error {
		return func(context.Context) error { calls = append(calls, name); return err }
	}
	l := &politeness.Limiter{Delay: -1}
	u := &url.URL{Scheme: "http", Host: "www.example.com"}
	ctx := t.Context()
	for _, check := range []func(context.Context) error{step("a", nil), nil, step("b", nil), step("c", errUnwanted), step("d", nil)} {
		ctx = politeness.WithCheck(ctx, check)
	}
	if _, err := l.Acquire(ctx, u); !errors.Is(err, errUnwanted) {
		t.Errorf("Acquire: error %v, want %v", err, errUnwanted)
	}
	if got := strings.Join(calls, ""); got != "abc" {
		t.Errorf("the called checks are %q, want %q", got, "abc")
	}
}

// A panic in check reaches the caller, and delays no other request.
func TestWithCheck_Panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &politeness.Limiter{Delay: time.Second}
		u := &url.URL{Scheme: "http", Host: "www.example.com"}
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(politeness.Outcome{})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Acquire did not panic, want the panic of check")
				}
			}()
			l.Acquire(politeness.WithCheck(t.Context(), func(context.Context) error { panic("check") }), u)
		}()
		if s := l.Stats(); s.Waiting != 0 || s.InFlight != 0 {
			t.Errorf("Stats() = %+v, want none waiting or in flight", s)
		}
	})
}

func TestWithCheck_Observer(t *testing.T) {
	var canceled int
	l := &politeness.Limiter{Observer: &politeness.Observer{
		Granted: func(context.Context, politeness.Event) {
			t.Error("Granted was called, want no call because check fails")
		},
		Canceled: func(_ context.Context, e politeness.Event) { canceled++ },
	}}
	l.Acquire(politeness.WithCheck(t.Context(), unwanted), &url.URL{Scheme: "http", Host: "www.example.com"})
	if canceled != 1 {
		t.Errorf("Canceled was called %d times, want once", canceled)
	}
}

// A check takes 2.5 s, and during it another request starts at 2 s. The checked
// request then has to wait until 3 s. Only these 500 ms are its wait.
func TestWithCheck_TakesNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		l := &politeness.Limiter{Delay: time.Second, Observer: &politeness.Observer{
			Granted: func(_ context.Context, e politeness.Event) { waited = append(waited, e.Wait) },
		}}
		u := &url.URL{Scheme: "http", Host: "www.example.com"}
		isFirst := true
		slowOnce := func(ctx context.Context) error {
			if !isFirst {
				return nil
			}
			isFirst = false
			time.Sleep(2 * time.Second)
			other, err := l.Acquire(ctx, u)
			if err != nil {
				return err
			}
			other.Done(politeness.Outcome{})
			time.Sleep(500 * time.Millisecond)
			return nil
		}
		g, err := l.Acquire(politeness.WithCheck(t.Context(), slowOnce), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(politeness.Outcome{})
		if want := []time.Duration{0, 500 * time.Millisecond}; !slices.Equal(waited, want) {
			t.Errorf("Granted received the waits %v, want %v", waited, want)
		}
	})
}

// The owner of a host keeps it after a failed check until its term is over.
func TestWithCheck_Fleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &handFleet{}
		f.trust(true)
		l := &politeness.Limiter{Delay: time.Hour, Fleet: f}
		u := shop
		errs := make(chan error)
		go func() {
			_, err := l.Acquire(politeness.WithCheck(t.Context(), unwanted), u)
			errs <- err
		}()
		synctest.Wait()
		f.claim(t).Own(fleet.Record{})
		if err := <-errs; !errors.Is(err, errUnwanted) {
			t.Errorf("Acquire: error %v, want %v", err, errUnwanted)
		}
		g, err := l.Acquire(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		g.Done(politeness.Outcome{})
		if s := l.Stats(); s.Waiting != 0 {
			t.Errorf("Stats() = %+v, want none waiting", s)
		}
	})
}

// The next attempt of a request is checked too.
func TestWithCheck_Transport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		client := &http.Client{Transport: &politeness.Transport{
			Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/next"}}, Body: http.NoBody, Request: r}, nil
			}),
			Limiter: &politeness.Limiter{},
		}}
		checks := 0
		ctx := politeness.WithCheck(t.Context(), func(context.Context) error {
			if checks++; checks > 2 {
				return errUnwanted
			}
			return nil
		})
		req, err := http.NewRequestWithContext(ctx, "POST", "http://www.example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(req); !errors.Is(err, errUnwanted) || sent != 2 {
			t.Errorf("%d requests were sent, error %v; want 2, %v", sent, err, errUnwanted)
		}
	})
}
