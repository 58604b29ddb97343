package schedule

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// waitingRequest returns a request with a name such as "page 1" or "robots 2".
// The number is the port of its origin.
func waitingRequest(name string) *Request {
	kind, port, _ := strings.Cut(name, " ")
	r := &Request{
		URL:      &url.URL{Scheme: "http", Host: "example.com:" + port},
		Deadline: Forever,
		Owner:    name,
	}
	r.Exempt = kind == "robots"
	r.Overtakes = r.Exempt
	return r
}

// A caller must not change the URL of a request that waits, but if it does, the
// request leaves the queue as a whole.
func TestHost_DequeueAfterChangeOfURL(t *testing.T) {
	h := testHost()
	var spare Spare
	r := waitingRequest("robots 80")
	other := waitingRequest("robots 81")
	h.Enqueue(0, r, &spare)
	h.Enqueue(0, other, &spare)
	r.URL.Host = "example.com:82"
	h.Dequeue(r, &spare)
	h.Enqueue(0, waitingRequest("page 80"), &spare) // moves the robots.txt request of its origin to the front
	if _, robots := h.heads(); robots != other {
		t.Errorf("the first robots.txt request is %v, want %v", robots.Owner, other.Owner)
	}
}

// Each row is a sequence of events at one host whose Delay is 1 s. At each
// event, requests join the queue. Next decides which of them starts. want
// contains the names and times of all starts.
func TestHost_Next(t *testing.T) {
	type event struct {
		at    Time
		joins string        // the names of requests, separated by commas
		takes time.Duration // from now on, how long each robots.txt request takes
	}
	for _, tt := range []struct {
		name   string
		edit   func(*Settings)
		crawl  time.Duration // the Crawl-delay of the pages
		events []event
		want   string
	}{
		{name: "pages keep their order",
			events: []event{{joins: "page 1, page 2, page 3"}},
			want:   "page 1 0s, page 2 1s, page 3 2s"},
		{name: "a robots.txt request starts first, and then they take turns",
			events: []event{{joins: "page 80, page 80, page 80, robots 1, robots 2, robots 3, robots 4, robots 5"}},
			want:   "robots 1 0s, page 80 1s, robots 2 2s, page 80 3s, robots 3 4s, page 80 5s, robots 4 6s, robots 5 7s"},
		{name: "a page that joins later has the next turn",
			events: []event{{joins: "robots 1, robots 2, robots 3"}, {at: 500 * ms, joins: "page 80"}},
			want:   "robots 1 0s, page 80 1s, robots 2 2s, robots 3 3s"},
		{name: "while no page is due, any number starts",
			crawl:  3 * s,
			events: []event{{joins: "page 80, page 80"}, {at: 500 * ms, joins: "robots 1, robots 2, robots 3, robots 4"}},
			want:   "page 80 0s, robots 1 1s, robots 2 2s, page 80 3s, robots 3 4s, robots 4 5s"},
		{name: "the robots.txt of the first page starts first, wherever it is in its lane",
			events: []event{{joins: "page 80, page 80, robots 1, robots 2, robots 80"}},
			want:   "robots 80 0s, page 80 1s, robots 1 2s, page 80 3s, robots 2 4s"},
		{name: "the robots.txt of the first page overrides the turn",
			events: []event{{joins: "robots 1, robots 2"}, {at: 500 * ms, joins: "page 80, robots 80"}},
			want:   "robots 1 0s, robots 80 1s, page 80 2s, robots 2 3s"},
		{name: "a page becomes the first of its lane, and its robots.txt starts first",
			events: []event{{joins: "page 80, page 8080, robots 1, robots 2, robots 8080"}},
			want:   "robots 1 0s, page 80 1s, robots 8080 2s, page 8080 3s, robots 2 4s"},
		{name: "the robots.txt of the first page overrides the turn only once",
			events: []event{{joins: "page 80, robots 80, robots 80, robots 80, robots 1"}},
			want:   "robots 80 0s, page 80 1s, robots 80 2s, robots 80 3s, robots 1 4s"},
		{name: "a loop that requests the robots.txt of the first page",
			events: []event{{joins: "page 80, page 80, robots 80"}, {at: 500 * ms, joins: "robots 80"}, {at: 1500 * ms, joins: "robots 80"}, {at: 2500 * ms, joins: "robots 80"}, {at: 3500 * ms, joins: "robots 80"}},
			want:   "robots 80 0s, page 80 1s, robots 80 2s, page 80 3s, robots 80 4s, robots 80 5s, robots 80 6s"},
		{name: "robots.txt requests that take long get no more time than pages",
			events: []event{{takes: 4 * s, joins: "robots 1, robots 2"}, {at: 500 * ms, joins: "page 80, page 80, page 80, page 80, page 80"}},
			want:   "robots 1 0s, page 80 4s, page 80 5s, page 80 6s, page 80 7s, robots 2 8s, page 80 12s"},
		{name: "also between pages with a Crawl-delay",
			crawl:  2 * s,
			events: []event{{takes: 10 * s, joins: "robots 1, robots 2"}, {at: 500 * ms, joins: "page 80, page 80, page 80, page 80, page 80, page 80"}},
			want:   "robots 1 0s, page 80 10s, page 80 12s, page 80 14s, page 80 16s, page 80 18s, robots 2 20s, page 80 30s"},
		{name: "but they do not wait for pages that are not there",
			events: []event{{takes: 4 * s, joins: "robots 1, robots 2"}, {at: 500 * ms, joins: "page 80"}},
			want:   "robots 1 0s, page 80 4s, robots 2 5s"},
		{name: "no Delay",
			edit:   func(set *Settings) { set.Delay = 0 },
			events: []event{{joins: "page 80, page 80, robots 1, robots 2, robots 3"}},
			want:   "robots 1 0s, page 80 0s, robots 2 0s, page 80 0s, robots 3 0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := testHost()
			if tt.edit != nil {
				h = testHost(tt.edit)
			}
			var starts []string
			takes := time.Duration(0)
			var free Time // the one slot is free from then on
			var inFlight *Request
			next := tt.events
			for now := Time(0); now < 60*s; now += 500 * ms {
				if inFlight != nil && free <= now {
					h.Finish(free, inFlight)
					inFlight = nil
				}
				for len(next) > 0 && next[0].at == now {
					takes = max(takes, next[0].takes)
					for name := range strings.SplitSeq(next[0].joins, ", ") {
						r := waitingRequest(name)
						if !r.Exempt {
							r.CrawlDelay = tt.crawl
						}
						h.Enqueue(now, r, new(Spare))
					}
					next = next[1:]
				}
				for inFlight == nil {
					r := h.Next(now)
					if r == nil {
						break
					}
					starts = append(starts, fmt.Sprint(r.Owner, " ", time.Duration(now)))
					h.Dequeue(r, new(Spare))
					h.Start(now, r, time.Hour)
					free = now
					if r.Overtakes {
						free = now.Add(takes)
					}
					if free > now {
						inFlight = r
					} else {
						h.Finish(now, r)
					}
				}
			}
			if got := strings.Join(starts, ", "); got != tt.want {
				t.Errorf("the requests start as\n%s\nwant\n%s", got, tt.want)
			}
			if h.Waiting() != 0 || h.queue != nil {
				t.Errorf("%d requests still wait, and the queue is released: %t; want 0 and true", h.Waiting(), h.queue == nil)
			}
		})
	}
}

// A page reaches the front, and its robots.txt has expired. The page leaves the
// queue, and the request for its robots.txt starts before those for other
// ports, which joined first. It does not start before the pages that wait.
func TestHost_Rejoins(t *testing.T) {
	for _, isWaiting := range []bool{false, true} {
		h := testHost()
		page := waitingRequest("page 80")
		h.Enqueue(0, page, new(Spare))
		for _, name := range []string{"robots 1", "robots 2", "page 8080"} {
			h.Enqueue(0, waitingRequest(name), new(Spare))
		}
		file := waitingRequest("robots 80")
		if isWaiting {
			file = waitingRequest("robots 8081")
			page.URL = file.URL
			h.Enqueue(0, file, new(Spare))
		}
		h.ExpectRejoin(page)
		h.Dequeue(page, new(Spare))
		if !isWaiting {
			h.Enqueue(0, file, new(Spare))
		}
		if _, first := h.heads(); first != file {
			t.Errorf("isWaiting %v: the first robots.txt is %v, want %v", isWaiting, first.Owner, file.Owner)
		}
		h.lastWasRobots = true
		if got := h.Next(0); got.Owner != "page 8080" {
			t.Errorf("isWaiting %v: the next request is %v, want the page", isWaiting, got.Owner)
		}
	}
}

// The check of page 80 fails while the requests for the robots.txt of page
// 8080, the next page, and for another port wait. The robots.txt of page 80
// waits too, or joins later. It starts before the others in both cases.
func TestHost_RejoinsBeforeNextPage(t *testing.T) {
	for _, isWaiting := range []bool{false, true} {
		h := testHost()
		names := []string{"page 80", "page 8080", "robots 1", "robots 8080"}
		if isWaiting {
			names = append(names, "robots 80")
		}
		requests := make(map[string]*Request)
		for _, name := range names {
			requests[name] = waitingRequest(name)
			h.Enqueue(0, requests[name], new(Spare))
		}
		page := requests["page 80"]
		h.ExpectRejoin(page)
		h.Dequeue(page, new(Spare))
		if !isWaiting {
			h.Enqueue(0, waitingRequest("robots 80"), new(Spare))
		}
		var order []any
		l := &h.queue.robots
		for r := l.first; r != nil; r = l.after(r) {
			order = append(order, r.Owner)
		}
		if got := fmt.Sprint(order...); got != "robots 80robots 8080robots 1" {
			t.Errorf("isWaiting %t: the requests for robots.txt are in the order %q, want %q", isWaiting, got, "robots 80robots 8080robots 1")
		}
		if h.queue.rejoining != (origin{}) {
			t.Errorf("isWaiting %t: another request may go to the front, want none", isWaiting)
		}
	}
}

// Two requests for one robots.txt wait. The first starts, and then a page of
// this origin becomes the first. The second request starts before those for
// other ports, as the first would have done. The same holds if the first leaves
// the queue without a start, or the one between two others does.
func TestHost_NextWithSeveralRequestsForOneFile(t *testing.T) {
	for leaves := range 3 {
		h := testHost()
		h.Enqueue(0, waitingRequest("page 9"), new(Spare))
		var files []*Request
		for range 3 {
			file := waitingRequest("robots 80")
			files = append(files, file)
			h.Enqueue(0, file, new(Spare))
			h.Enqueue(0, waitingRequest("robots 1"), new(Spare))
		}
		h.Enqueue(0, waitingRequest("page 80"), new(Spare))
		h.Dequeue(files[leaves], new(Spare))
		want := files[0]
		if leaves == 0 {
			want = files[1]
		}
		h.Dequeue(h.FirstWaiting(), new(Spare))
		if _, first := h.heads(); first != want {
			t.Errorf("when request %d has left, the first robots.txt is %v, want that of the page", leaves, first.Owner)
		}
		for h.Waiting() > 0 {
			h.Dequeue(h.Next(0), new(Spare))
		}
	}
}
