package robotsmw_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A browser represents a headless browser, or any other client that is not an
// http.Client.
type browser struct{ userAgent string }

// open opens a page. It does not follow redirects.
func (b *browser) open(page string) (status int, header http.Header, err error) {
	fmt.Println("the browser opens", page)
	if page == "https://shop.example/old" {
		return http.StatusMovedPermanently, http.Header{"Location": {"https://shop.example/new"}}, nil
	}
	return http.StatusOK, http.Header{"Content-Type": {"text/html"}}, nil
}

// A browser opens pages. Admit waits until each of them may be opened, and Done
// reports the response to the Limiter. The target of a redirect is a page like
// any other, so it must be admitted too.
func ExampleTransport_Admit() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /cart\n"})

	const userAgent = "ExampleBot/1.0 (+https://example.com/bot)"
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: userAgent,
		Base:      &web, // fetches robots.txt
		Limiter:   &politeness.Limiter{Delay: 10 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	tab := &browser{userAgent}

	pages := []string{"https://shop.example/old", "https://shop.example/cart"}
	for len(pages) > 0 {
		u, err := url.Parse(pages[0])
		if err != nil {
			log.Fatal(err)
		}
		pages = pages[1:]
		admission, err := transport.Admit(context.Background(), u)
		if err != nil {
			fmt.Println(err)
			continue
		}
		start := time.Now()
		status, header, err := tab.open(admission.Decision.URL.String())
		admission.Done(politeness.Outcome{Status: status, Header: header, Latency: time.Since(start), Err: err})
		if target := header.Get("Location"); target != "" {
			pages = append(pages, target)
		}
	}
	// Output:
	// the browser opens https://shop.example/old
	// robotsmw: disallowed: rule "Disallow: /cart", line 2 of robots.txt
	// the browser opens https://shop.example/new
}

// A message is delivered to a worker by a queue. Most queues have a method like
// Snooze, which returns the message to the queue, to be delivered again after
// the given time.
type message string

func (m message) Ack() { fmt.Println(m, "is done") }
func (m message) Snooze(d time.Duration) {
	fmt.Println(m, "is delivered again in", d.Round(time.Minute))
}
func (m message) Drop(why error) { fmt.Println(m, "is dropped:", why) }

// The worker of a queue opens pages in a browser. With a MaxWait of -1, Admit
// does not wait for a host that is not due, so the worker returns the page to
// the queue.
func ExampleTransport_Admit_queue() {
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      web(),
		Override:  map[string]string{"https://mine.example": "User-agent: *\nDisallow: /cart\n"},
		Limiter:   &politeness.Limiter{Delay: time.Hour, MaxWait: -1},
	})
	if err != nil {
		log.Fatal(err)
	}
	tab := &browser{"ExampleBot/1.0 (+https://example.com/bot)"}

	work := func(m message) {
		u, err := url.Parse(string(m))
		if err != nil {
			m.Drop(err)
			return
		}
		admission, err := transport.Admit(context.Background(), u)
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			m.Snooze(time.Until(delay.Until))
			return
		}
		if errors.Is(err, robotsmw.ErrDisallowed) {
			m.Drop(err)
			return
		}
		if no, ok := errors.AsType[*robotsmw.DisallowedError](err); ok { // robots.txt is unreachable
			m.Snooze(time.Until(no.Decision.NextTry))
			return
		}
		if err != nil {
			m.Drop(err)
			return
		}
		status, header, err := tab.open(admission.Decision.URL.String())
		admission.Done(politeness.Outcome{Status: status, Header: header, Err: err})
		if err != nil {
			m.Snooze(time.Minute)
			return
		}
		m.Ack()
	}
	for _, page := range []message{
		"https://mine.example/1", "https://mine.example/2", "https://mine.example/cart", "https://down.example/",
	} {
		work(page)
	}
	// Output:
	// the browser opens https://mine.example/1
	// https://mine.example/1 is done
	// https://mine.example/2 is delivered again in 1h0m0s
	// https://mine.example/cart is dropped: robotsmw: disallowed: rule "Disallow: /cart", line 2 of the robots.txt set for this origin
	// https://down.example/ is delivered again in 1m0s
}
