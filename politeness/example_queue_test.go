package politeness_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// A message is what a queue delivers to a worker. Most queues have something
// like Snooze: the message returns to the queue, and is delivered again after
// that time.
type message interface {
	URL() string
	Ack()
	Snooze(time.Duration)
}

// A page is a message that prints what becomes of it.
type page string

func (p page) URL() string            { return string(p) }
func (p page) Ack()                   { fmt.Println("fetched") }
func (p page) Snooze(d time.Duration) { fmt.Println("retry in", d.Round(time.Minute)) }

// A worker of a queue returns a page to the queue until its host is due. Each
// page is delivered one interval later than the previous one of its host.
func Example_inYourQueue() {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()

	limiter := &politeness.Limiter{Delay: time.Hour, MaxWait: -1}
	client := &http.Client{Transport: &politeness.Transport{Limiter: limiter}}
	places := make(map[string]time.Time) // the latest time that a page of a host got

	for _, m := range []message{page(srv.URL + "/a"), page(srv.URL + "/b"), page(srv.URL + "/c")} {
		resp, err := client.Get(m.URL())
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			due := delay.Until
			if next := places[delay.Host].Add(limiter.Delay); next.After(due) {
				due = next
			}
			places[delay.Host] = due
			m.Snooze(time.Until(due))
			continue
		} else if err != nil {
			m.Snooze(time.Minute)
			continue
		}
		resp.Body.Close()
		m.Ack()
	}
	// Output:
	// fetched
	// retry in 1h0m0s
	// retry in 2h0m0s
}
