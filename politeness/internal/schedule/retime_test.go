package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// retimed is a host whose requests are retimed as the Limiter does it.
type retimed struct {
	*Host
	now      Time
	examined int
	rejected map[*Request]Reason // what they would have to wait for
}

func newRetimed() *retimed {
	return &retimed{Host: testHost(), rejected: make(map[*Request]Reason)}
}

func (h *retimed) visit(r *Request, v Verdict, why Reason) {
	h.examined++
	if v == Rejected {
		h.rejected[r] = why
		h.Dequeue(r, new(Spare))
	}
}

// event retimes h, and wakes the first request of each lane.
func (h *retimed) event() {
	h.Retime(h.now, h.visit)
	h.wake()
}

// wake continues the retiming, and returns the time until that has to be done
// again.
func (h *retimed) wake() time.Duration {
	wait := Unlimited
	for r := range h.Heads {
		wait = min(wait, h.ContinueRetiming(h.now, r, h.visit))
	}
	return wait
}

// Requests of two origins with different Crawl-delays join one queue by turns,
// so each of them changes the times of all that wait. The work grows with the
// number of requests, and not with its square.
func TestHost_RetimeTakesLinearWork(t *testing.T) {
	work := func(n int) int {
		h := newRetimed()
		h.start(0, new(Request))
		for i := range n {
			r := &Request{Declared: true, CrawlDelay: time.Duration(1+i%2) * s, Deadline: Time(1000 * time.Hour), Traced: i%10 == 0}
			h.Declare(r)
			before := h.examined
			h.event()
			if most := perEvent + perBatch; h.examined-before > most {
				t.Fatalf("one event examines %d requests, want at most %d", h.examined-before, most)
			}
			h.Enqueue(h.now, r, new(Spare))
			h.now += 10_000 // 10 µs later
		}
		return h.examined
	}
	few, many := work(4_000), work(16_000)
	if many > 6*few {
		t.Errorf("%d examinations for 4,000 requests and %d for 16,000, want at most 6 times as many", few, many)
	}
}

// A pause begins while thousands wait, half of them with a deadline that cannot
// be met then. All these are rejected within a few milliseconds.
func TestHost_RetimeRejectsAll(t *testing.T) {
	h := newRetimed()
	h.start(0, new(Request))
	var late, patient []*Request
	for i := range 10_000 {
		r := &Request{Deadline: Time(100 * time.Hour)}
		patient = append(patient, r)
		if i%2 == 0 {
			r = &Request{Deadline: Time(9 * time.Hour)}
			late = append(late, r)
		}
		h.Enqueue(0, r, new(Spare))
	}
	h.Learn().pause(0, 10*time.Hour, ReasonBackOff)
	h.event()
	for {
		wait := h.wake()
		if wait == Unlimited {
			break
		}
		h.now = h.now.Add(wait)
	}
	if h.now > 20*ms {
		t.Errorf("the retiming takes %v, want at most 20ms", time.Duration(h.now))
	}
	if len(h.rejected) != len(late) {
		t.Errorf("%d requests are rejected, want %d", len(h.rejected), len(late))
	}
	for _, r := range late {
		if h.rejected[r] == ReasonNone {
			t.Fatal("a request with a deadline that cannot be met still waits, want it rejected")
		}
	}
	if h.Waiting() != len(patient)-len(late) {
		t.Errorf("%d requests wait, want %d", h.Waiting(), len(patient)-len(late))
	}
}

// Two pages wait, and a pause begins that is too long for the second. It is
// rejected for the reason for which it would be rejected if it joined now: the
// page ahead or, if that is rejected too, the pause.
func TestHost_RetimeGivesReasons(t *testing.T) {
	for _, tt := range []struct {
		deadline Time // of the first page
		want     Reason
	}{
		{Forever, ReasonQueue},
		{Time(10 * s), ReasonBackOff},
	} {
		h := newRetimed()
		h.start(0, new(Request))
		second := &Request{Deadline: Time(10 * s)}
		h.Enqueue(0, &Request{Deadline: tt.deadline}, new(Spare))
		h.Enqueue(0, second, new(Spare))
		h.Learn().pause(0, time.Minute, ReasonBackOff)
		h.event()
		if got := h.rejected[second]; got != tt.want {
			t.Errorf("a page behind one with the deadline %v is rejected for reason %d, want %d", time.Duration(tt.deadline), got, tt.want)
		}
		joins := h.ForecastAtEnd(0, &Request{Deadline: Time(10 * s)}, Anytime)
		if joins.Why != tt.want {
			t.Errorf("the forecast of a page that joins the queue has reason %d, want %d", joins.Why, tt.want)
		}
	}
}

// A host has a configured Crawl-delay, which requests wait for however long it
// is. Requests of two origins wait, and the Crawl-delay that one of the origins
// declares is longer than MaxCrawlDelay. When the configured one is taken back,
// the requests of this origin are rejected, although the most recently declared
// Crawl-delay is short and no request has a deadline.
func TestHost_RetimeRejectsLongCrawlDelays(t *testing.T) {
	h := newRetimed()
	agreed := *h.Settings
	agreed.CrawlDelay = 5 * s
	agreed.MaxCrawlDelay = Unlimited
	limited := *h.Settings
	limited.MaxCrawlDelay = 60 * s
	h.Settings = &agreed
	h.start(0, new(Request))
	var long []*Request
	for i := range 10 {
		r := &Request{Declared: true, CrawlDelay: 2 * s, Deadline: Forever}
		if i%3 == 2 {
			r.CrawlDelay = 100 * s
			long = append(long, r)
		}
		h.Declare(r)
		h.Enqueue(0, r, new(Spare))
	}
	h.Settings = &limited
	h.event()
	for _, r := range long {
		if h.rejected[r] != ReasonCrawlDelay {
			t.Errorf("a request with a long Crawl-delay is rejected for reason %d, want %d", h.rejected[r], ReasonCrawlDelay)
		}
	}
	if len(h.rejected) != len(long) {
		t.Errorf("%d requests are rejected, want %d", len(h.rejected), len(long))
	}
}

// Requests join and leave while they are retimed, in any order. The place of
// the next one to be examined stays right, and in the end no request waits
// whose estimate is too late.
func TestHost_RetimeWhileRequestsJoinAndLeave(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		h := newRetimed()
		h.start(0, new(Request))
		var all []*Request
		for range 300 {
			switch rng.IntN(10) {
			case 0:
				h.Learn().CrawlDelay = time.Duration(rng.IntN(4)) * s
				h.Retime(h.now, h.visit)
			case 1:
				h.wake()
			case 2:
				if len(all) > 0 {
					i := rng.IntN(len(all))
					if r := all[i]; r.next != nil {
						h.Dequeue(r, new(Spare))
					}
				}
			default:
				kind := [...]string{"page", "page", "robots"}[rng.IntN(3)]
				r := waitingRequest(fmt.Sprint(kind, " ", rng.IntN(5)))
				r.Deadline = h.now.Add(time.Duration(rng.IntN(1000)) * s)
				if !r.Exempt {
					r.CrawlDelay = time.Duration(rng.IntN(4)) * s
				}
				if !h.ForecastAtEnd(h.now, r, Anytime).Rejected {
					h.Enqueue(h.now, r, new(Spare))
					all = append(all, r)
				}
			}
			h.now += 100_000
			if h.queue == nil {
				continue
			}
			for _, l := range []*lane{&h.queue.pages, &h.queue.robots} {
				place := place{}
				for r := l.first; r != nil && r != l.retiming.next; r = l.after(r) {
					place.ahead++
					place.crawlDelays += r.CrawlDelay
				}
				if l.retiming.next != nil && place != l.retiming.place {
					t.Fatalf("seed %d: the retiming counts %+v ahead of its next request, want %+v", seed, l.retiming.place, place)
				}
			}
		}
		h.event()
		for range 100 { // the requests that are rejected change the estimates of others
			h.now += Time(batchInterval)
			h.wake()
		}
		if h.queue == nil {
			continue
		}
		for _, l := range []*lane{&h.queue.pages, &h.queue.robots} {
			place := place{}
			for r := l.first; r != nil; r = l.after(r) {
				if h.forecast(h.now, r, place, Anytime).Rejected && r.Estimate >= r.Deadline {
					t.Errorf("seed %d: a request waits that is estimated to start at %v, with the deadline %v, want it rejected", seed, time.Duration(r.Estimate), time.Duration(r.Deadline))
				}
				if !l.retiming.isDone() {
					t.Errorf("seed %d: the retiming has not ended after 100 batches, want its end", seed)
				}
				place.ahead++
				place.crawlDelays += r.CrawlDelay
			}
		}
	}
}
