package evidence_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// This program records a crawl, and prints what the record contains.
func Example() {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart\nCrawl-delay: 0.1\n",
		"/":           "welcome",
	})

	rec, err := evidence.Open(dir, evidence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	opts := robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: 10 * time.Millisecond},
	}
	if err := rec.Observe(&opts); err != nil { // from here on, rec records the crawl
		log.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		log.Fatal(err)
	}
	for _, url := range []string{"http://shop.example/", "http://shop.example/cart"} {
		if resp, err := client.Get(url); err == nil {
			resp.Body.Close()
		}
	}
	if err := rec.Close(); err != nil {
		log.Fatal(err)
	}
	line, hash, _ := strings.Cut(rec.Head(), ":")
	fmt.Println("to store: the hash of line", line, "with", len(hash), "digits")

	f, err := os.Open(filepath.Join(dir, "evidence-000001.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Event, URL   string
			Interval     float64
			Interval_why string
			Decision     struct{ Reason, Rule string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			log.Fatal(err)
		}
		switch line.Event {
		case "request":
			fmt.Println("requested", line.URL, "after", line.Interval, "s,", line.Interval_why)
		case "decision":
			fmt.Println("not requested", line.URL+":", line.Decision.Rule)
		}
	}
	// Output:
	// to store: the hash of line 12 with 64 digits
	// requested http://shop.example/robots.txt after 0.01 s, delay
	// requested http://shop.example/ after 0.1 s, crawl-delay
	// not requested http://shop.example/cart: Disallow: /cart
}

// A crawler that uses a Limiter without a Transport calls Pace to record its
// requests.
func ExampleRecorder_Pace() {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	rec, err := evidence.Open(dir, evidence.Options{MaxBytes: 100 << 20})
	if err != nil {
		log.Fatal(err)
	}
	limiter := &politeness.Limiter{Delay: 500 * time.Millisecond}
	rec.Pace(limiter) // before the first use of limiter
	// … Acquire, request, Done …
	if err := rec.Close(); err != nil {
		log.Fatal(err) // the error contains the number of lost lines
	}
	fmt.Println("closed")
	// Output: closed
}
