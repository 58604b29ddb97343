package politeness_test

import (
	"context"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A host is given away with two requests in flight whose Done is never called.
// The Limiter does not use the host again. The Fleet is informed when the lease
// of each request ends, because the requests take up slots of the next owner.
func TestFleet_LeaseEndsAfterGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Concurrency: 2, Lease: time.Minute})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		time.Sleep(time.Second)
		f.request(t.Context(), shop)
		f.started(0, time.Second)
		time.Sleep(2 * time.Second)
		give(t, c, true, true)
		mustReport := func(at time.Duration, inFlight ...int) {
			t.Helper()
			time.Sleep(time.Until(f.began.Add(at)))
			synctest.Wait()
			f.fleet.mu.Lock()
			defer f.fleet.mu.Unlock()
			if len(f.fleet.ended) != len(inFlight) {
				t.Fatalf("after %v, the Fleet has received %+v, want %v requests in flight", at, f.fleet.ended, inFlight)
			}
			for i, r := range f.fleet.ended {
				if r.InFlight != inFlight[i] {
					t.Errorf("report %d has %d requests in flight, want %d", i, r.InFlight, inFlight[i])
				}
			}
		}
		mustReport(59 * time.Second)
		mustReport(time.Minute, 1)
		mustReport(61*time.Second, 1, 0)
		mustReport(time.Hour, 1, 0)
	})
}

// A request whose Done is called, with an empty Outcome, long after its lease
// has ended and its host was evicted, is reported to the Fleet only at the end
// of the lease. A later report could be taken for one about the requests that
// this member has in flight to the host now.
func TestFleet_DoneAfterEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Concurrency: 2, Lease: time.Minute})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		time.Sleep(3 * time.Second)
		give(t, c, true, true)
		time.Sleep(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		f.request(ctx, &url.URL{Scheme: "http", Host: "other.example"}) // evicts the first host
		f.end(politeness.Outcome{})
		cancel()
		synctest.Wait()
		f.fleet.mu.Lock()
		defer f.fleet.mu.Unlock()
		if n := len(f.fleet.ended); n != 1 {
			t.Errorf("the Fleet has received %+v, want one end", f.fleet.ended)
		}
	})
}

// The lease of a request in flight has a timer only until the request ends.
func TestFleet_EndsBeforeLeaseAfterGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleetTest(t, &politeness.Limiter{Concurrency: 2, Lease: time.Minute})
		f.request(t.Context(), shop)
		c := f.fleet.claim(t)
		c.Own(fleet.Record{})
		time.Sleep(3 * time.Second)
		give(t, c, true, true)
		time.Sleep(time.Second)
		f.done()
		time.Sleep(time.Hour)
		synctest.Wait()
		f.fleet.mu.Lock()
		defer f.fleet.mu.Unlock()
		if n := len(f.fleet.ended); n != 1 || f.fleet.ended[0].InFlight != 0 {
			t.Errorf("the Fleet has received %+v, want one end", f.fleet.ended)
		}
	})
}
