package politeness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// Join combines every function of Observer. The test goes over the fields by
// reflection, so it covers functions that are added later.
func TestJoinHasEveryFunction(t *testing.T) {
	var called []string
	numbered := func(who string) *Observer {
		o := new(Observer)
		for field, f := range reflect.ValueOf(o).Elem().Fields() {
			f.Set(reflect.ValueOf(func(context.Context, Event) { called = append(called, field.Name+who) }))
		}
		return o
	}
	joined := reflect.ValueOf(Join(nil, numbered("1"), nil, numbered("2"), numbered("3"))).Elem()
	for field, f := range joined.Fields() {
		called = nil
		f.Interface().(func(context.Context, Event))(t.Context(), Event{})
		if want := []string{field.Name + "1", field.Name + "2", field.Name + "3"}; !slices.Equal(called, want) {
			t.Errorf("the joined function calls %q, want %q", called, want)
		}
	}
}

func TestJoinLeavesOutWhatNobodyHas(t *testing.T) {
	if o := Join(); o != nil {
		t.Errorf("Join() = %v, want nil", o)
	}
	if o := Join(nil, nil); o != nil {
		t.Errorf("Join(nil, nil) = %v, want nil", o)
	}
	one := &Observer{Granted: func(context.Context, Event) {}}
	if o := Join(nil, one); o != one {
		t.Errorf("Join(nil, %p) = %p, want its second argument", one, o)
	}
	o := Join(one, &Observer{Rejected: func(context.Context, Event) {}})
	if o.Granted == nil || o.Rejected == nil || o.Canceled != nil || o.BackedOff != nil {
		t.Errorf("Join of Observers with Granted and Rejected = %+v, want these two functions only", o)
	}
}

func TestObserversGetTheContextOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var got []any
		note := func(ctx context.Context, _ Event) { got = append(got, ctx.Value(key{})) }
		l := &Limiter{Observer: &Observer{Granted: note, Rejected: note, Canceled: note, BackedOff: note}}
		tr := &Transport{Limiter: l, Base: roundTripFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		})}
		with := func(value string) context.Context { return context.WithValue(t.Context(), key{}, value) }
		want := func(values ...any) {
			t.Helper()
			if !slices.Equal(got, values) {
				t.Errorf("the functions received contexts with the values %v, want %v", got, values)
			}
			got = nil
		}
		u := mustURL(t, "http://example.com/")

		req, _ := http.NewRequestWithContext(WithCrawlDelay(with("sent"), 1<<62), "GET", u.String(), nil)
		tr.RoundTrip(req)
		want("sent", "sent") // two events: granted, backed off

		ctx, cancel := context.WithTimeout(with("hurried"), 1)
		defer cancel()
		l.Acquire(ctx, u)
		want("hurried")

		ctx, cancel = context.WithCancel(with("canceled"))
		go func() { synctest.Wait(); cancel() }()
		l.Acquire(ctx, u)
		want("canceled")

		g, _ := l.Acquire(with("by hand"), mustURL(t, "http://other.example/"))
		g.Done(Outcome{Status: 503})
		want("by hand", nil) // Done has no context
	})
}

// Each request has a Grant, so the size of a Grant costs time: with 208 bytes,
// an Acquire took about a tenth longer.
func TestGrantsAreSmall(t *testing.T) {
	if size, most := unsafe.Sizeof(Grant{}), uintptr(176); size > most { // 176 is a size class of Go's allocator
		t.Errorf("a Grant takes %d bytes, want at most %d", size, most)
	}
}

func TestObserversAllocateNothing(t *testing.T) {
	u := mustURL(t, "http://example.com/")
	allocs := func(o *Observer) float64 {
		l := &Limiter{Delay: -1, Observer: o}
		return testing.AllocsPerRun(100, func() {
			g, _ := l.Acquire(t.Context(), u)
			g.Done(Outcome{Status: 200})
		})
	}
	var n int
	count := func(context.Context, Event) { n++ }
	observed := allocs(Join(&Observer{Granted: count, BackedOff: count}, &Observer{Granted: count}))
	if without := allocs(nil); observed > without {
		t.Errorf("Acquire and Done with an Observer make %v allocations, want at most %v, as without one", observed, without)
	}
}

// The events of a request contain which intervals applied to the request, and
// how it ended.
func TestObserversAreToldAWholeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		began := time.Now()
		note := func(what string) func(context.Context, Event) {
			return func(_ context.Context, e Event) {
				line := fmt.Sprintf("%s %d %s at %v", what, e.Request, e.URL.Path, e.At.Sub(began))
				switch what {
				case "granted":
					line += fmt.Sprintf(", delay %v, crawl-delay %v", e.Delay, e.CrawlDelay)
					if !e.Until.IsZero() {
						line += fmt.Sprintf(", paused until %v", e.Until.Sub(began))
					}
				case "answered":
					line += fmt.Sprintf(": %d, %q requests %v", e.Status, e.RetryAfter, e.Wait)
				case "ended":
					line += fmt.Sprintf(": %d after %v", e.Status, e.Wait)
				case "backed off":
					line += fmt.Sprintf(" for %v", e.Wait)
				}
				log = append(log, line)
			}
		}
		l := &Limiter{Observer: &Observer{Granted: note("granted"), Answered: note("answered"), Ended: note("ended"), BackedOff: note("backed off")}}
		tr := &Transport{Limiter: l, Base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			time.Sleep(200 * time.Millisecond)
			switch req.URL.Path {
			case "/limited":
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"9"}}, Body: io.NopCloser(strings.NewReader("wait"))}, nil
			case "/gone":
				return nil, errors.New("connection reset")
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})}
		for _, path := range []string{"/limited", "/page", "/gone"} {
			req, _ := http.NewRequestWithContext(WithCrawlDelay(t.Context(), 3*time.Second), "GET", "http://a.example"+path, nil)
			if resp, err := tr.RoundTrip(req); err == nil {
				time.Sleep(100 * time.Millisecond)
				resp.Body.Close()
			}
		}
		want := []string{
			"granted 1 /limited at 0s, delay 1s, crawl-delay 3s",
			`answered 1 /limited at 200ms: 429, "9" requests 9s`,
			"backed off 1 /limited at 200ms for 9s",
			"ended 1 /limited at 300ms: 429 after 300ms",
			"granted 2 /page at 9.2s, delay 1s, crawl-delay 3s, paused until 9.2s",
			`answered 2 /page at 9.4s: 200, "" requests 0s`,
			"ended 2 /page at 9.4s: 200 after 200ms",
			"granted 3 /gone at 12.2s, delay 1s, crawl-delay 3s, paused until 9.2s",
			"ended 3 /gone at 12.4s: 0 after 200ms",
		}
		if !slices.Equal(log, want) {
			t.Errorf("the events are\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A tally counts the events of its observer.
type tally struct{ granted, rejected, canceled, backedOff atomic.Int64 }

func (n *tally) observer() *Observer {
	count := func(n *atomic.Int64) func(context.Context, Event) {
		return func(context.Context, Event) { n.Add(1) }
	}
	return &Observer{Granted: count(&n.granted), Rejected: count(&n.rejected), Canceled: count(&n.canceled), BackedOff: count(&n.backedOff)}
}

func (n *tally) String() string {
	return fmt.Sprintf("granted %d, rejected %d, canceled %d, backed off %d",
		n.granted.Load(), n.rejected.Load(), n.canceled.Load(), n.backedOff.Load())
}
