package politeness_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A program that calls the Limiter itself checks the settings of its user
// before it begins.
func ExampleLimiter_Validate() {
	limiter := &politeness.Limiter{Delay: 2 * time.Second, Jitter: -1}
	if err := limiter.Validate(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// politeness: Limiter.Jitter is -1: give a fraction of the interval, such as 0.5, or 0 for none
}

// A program that sets up a Transport by itself checks it before the first
// request.
func ExampleTransport_Validate() {
	transport := &politeness.Transport{
		Base:    http.DefaultTransport,
		Limiter: &politeness.Limiter{Adaptive: -5},
	}
	fmt.Println(transport.Validate())
	// Output:
	// politeness: Limiter.Adaptive is -5: give how many response times a host should be left alone, such as 5, or 0 for off
}

// An idleFleet is a Fleet that fails the test if the Limiter calls it.
type idleFleet struct{ t *testing.T }

func (f idleFleet) Look(fleet.Claim) { f.t.Error("Look is called, want no call of the Fleet") }
func (f idleFleet) Trusted() bool {
	f.t.Error("Trusted is called, want no call of the Fleet")
	return false
}
func (f idleFleet) RequestEnded(string, fleet.Record) {
	f.t.Error("RequestEnded is called, want no call of the Fleet")
}

func circle(length int) *politeness.Limiter {
	first := new(politeness.Limiter)
	last := first
	for range length - 1 {
		last.Within = new(politeness.Limiter)
		last = last.Within
	}
	last.Within = first
	return first
}

// invalidLimiters returns Limiters with one invalid field each. The key of each
// is the beginning of its error.
func invalidLimiters(t *testing.T) map[string]*politeness.Limiter {
	return map[string]*politeness.Limiter{
		"politeness: Limiter.Jitter is -0.5: ":     {Jitter: -0.5},
		"politeness: Limiter.Jitter is 101: ":      {Jitter: 101},
		"politeness: Limiter.Jitter is NaN: ":      {Jitter: math.NaN()},
		"politeness: Limiter.Jitter is +Inf: ":     {Jitter: math.Inf(1)},
		"politeness: Limiter.Adaptive is -1: ":     {Adaptive: -1},
		"politeness: Limiter.Adaptive is NaN: ":    {Adaptive: math.NaN()},
		"politeness: Limiter.Adaptive is 2e+06: ":  {Adaptive: 2e6},
		"politeness: Limiter.GlobalRate is a rate": {GlobalRate: rate.NewLimiter(1, 0)},
		"politeness: Limiter.Within is a Limiter with Budget: ": {
			Within: &politeness.Limiter{Budget: politeness.Budget{Bytes: 1}},
		},
		"politeness: Limiter.Within is a Limiter with Fleet: ": {
			Within: &politeness.Limiter{Fleet: idleFleet{t}},
		},
		"politeness: Limiter.Within is a cycle: ":            circle(1),
		"politeness: Limiter.Within is a cycle: leave":       {Within: circle(2)},
		"politeness: Limiter.Within: Limiter.Jitter is -1: ": {Within: &politeness.Limiter{Jitter: -1}},
		"politeness: Limiter.Within.Within: Limiter.GlobalRate is": {
			Within: &politeness.Limiter{Within: &politeness.Limiter{GlobalRate: rate.NewLimiter(1, 0)}},
		},
		"politeness: Limiter.Within.Within: Limiter.Within is a Limiter with Fleet: ": {
			Within: &politeness.Limiter{Within: &politeness.Limiter{Within: &politeness.Limiter{Fleet: idleFleet{t}}}},
		},
	}
}

// A Limiter whose field is wrong lets no request start, whether or not its
// Validate was called.
func TestLimiter_ValidateNamesTheField(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "example.com"}
	for want, l := range invalidLimiters(t) {
		err := l.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate = %v, want an error that begins with %q", err, want)
			continue
		}
		for range 2 {
			g, failed := l.Acquire(t.Context(), u)
			if g != nil || failed == nil || failed.Error() != err.Error() {
				t.Errorf("Acquire = %v, %v, want the error of Validate, %v", g, failed, err)
			}
		}
		if again := l.Validate(); again == nil || again.Error() != err.Error() {
			t.Errorf("after Acquire, Validate = %v, want %v", again, err)
		}
	}
}

// Every value of these fields is valid: 0 means a default or no limit, and a
// negative value turns the delay, the wait or the limit off.
func TestLimiter_ValidateAcceptsAnyOtherValue(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		d := time.Duration(n)
		l := &politeness.Limiter{
			Delay: d, Concurrency: n, MaxWait: d, MaxCrawlDelay: d, MaxRetryAfter: d, BackOff: d, MaxBackOff: d, MaxHosts: n, Lease: d,
			Jitter: 100, Adaptive: 1e6, GlobalRate: rate.NewLimiter(rate.Inf, 0), Budget: politeness.Budget{Requests: int64(n), Bytes: int64(n)},
			Fleet:  idleFleet{t},
			Within: &politeness.Limiter{Delay: d, Within: &politeness.Limiter{Key: politeness.DomainKey}},
		}
		if err := l.Validate(); err != nil {
			t.Errorf("Validate of a Limiter whose numbers are %d: error %v, want none", n, err)
		}
	}
}

// Validate must not count as the first use of a Limiter, after which its fields
// must not be changed.
func TestLimiter_ValidateChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		within := &politeness.Limiter{Delay: -1, Concurrency: -1, Jitter: -1, Key: func(context.Context, *url.URL) (string, error) {
			calls++
			return "all", nil
		}}
		l := &politeness.Limiter{Delay: time.Hour, Within: within}
		if err := l.Validate(); err == nil || calls > 0 {
			t.Fatalf("Validate = %v after %d calls of Key, want an error after 0", err, calls)
		}
		l.Delay, within.Jitter = 2*time.Second, 0
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 2 {
			g, err := l.Acquire(t.Context(), &url.URL{Scheme: "http", Host: "example.com"})
			if err != nil {
				t.Fatal(err)
			}
			g.Done(politeness.Outcome{})
		}
		if took := time.Since(start); took != 2*time.Second || calls != 2 {
			t.Errorf("two requests took %v and %d calls of the second Key, want 2s and 2", took, calls)
		}
	})
}

// The GlobalRate of a Within had no burst when the Within was first used by
// itself, and has one when the outer Limiter is validated. The outer Limiter
// must then not use a Within that could not be set up.
func TestLimiter_WithinThatWasInvalid(t *testing.T) {
	global := rate.NewLimiter(1, 0)
	within := &politeness.Limiter{GlobalRate: global}
	u := &url.URL{Scheme: "http", Host: "example.com"}
	if _, err := within.Acquire(t.Context(), u); err == nil {
		t.Fatal("a request starts without a burst, want an error")
	}
	global.SetBurst(1)
	l := &politeness.Limiter{Within: within}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), u); err == nil || !strings.Contains(err.Error(), "GlobalRate") {
		t.Errorf("Acquire: error %v, want that of Within, which mentions GlobalRate", err)
	}
}

// Several constructors may receive the same Limiter at once, while others
// already use it. The race detector finds an access that is not safe.
func TestLimiter_ValidateConcurrently(t *testing.T) {
	l := &politeness.Limiter{Delay: -1, Concurrency: -1, GlobalRate: rate.NewLimiter(rate.Inf, 1), Within: &politeness.Limiter{Delay: -1, Concurrency: -1}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := l.Validate(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := l.Acquire(t.Context(), &url.URL{Scheme: "http", Host: "example.com"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A validating is a RoundTripper with a Validate of its own, as
// webbotauth.Transport is.
type validating struct {
	http.RoundTripper
	err error
}

func (v validating) Validate() error { return v.err }

func TestTransport_Validate(t *testing.T) {
	wrong := errors.New("no key")
	limiter := &politeness.Limiter{Jitter: -1}
	tests := map[string]struct {
		transport *politeness.Transport
		want      string
	}{
		"zero":               {new(politeness.Transport), ""},
		"Limiter":            {&politeness.Transport{Limiter: limiter}, limiter.Validate().Error()},
		"Base":               {&politeness.Transport{Base: validating{err: wrong}}, wrong.Error()},
		"Base is right":      {&politeness.Transport{Base: validating{}}, ""},
		"Base is another":    {&politeness.Transport{Base: &politeness.Transport{Limiter: limiter}}, limiter.Validate().Error()},
		"Base cannot say so": {&politeness.Transport{Base: http.DefaultTransport, Limiter: new(politeness.Limiter)}, ""},
	}
	for name, tt := range tests {
		got := ""
		if err := tt.transport.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: Validate = %q, want %q", name, got, tt.want)
		}
	}
}
