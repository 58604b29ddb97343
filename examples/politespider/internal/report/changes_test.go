package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A report that compares two crawls shows the counts of both. It also shows the
// URLs that were lost in only one of them.
func TestWrite_Changes(t *testing.T) {
	before := record.Summary{
		Seconds: 60, Fetched: 1200, NotFound: 3, GivenUp: 2,
		Lost: givenUp("http://a.example/1", "http://a.example/2"),
		Hosts: []record.HostSummary{
			{Host: "a.example", Fetched: 1000},
			{Host: "b.example", Fetched: 200},
			{Host: "same.example", Fetched: 5},
		},
	}
	now := record.Summary{
		Seconds: 90, Fetched: 1100, NotFound: 3, GivenUp: 61,
		Lost: givenUp("http://a.example/2", "http://a.example/3"),
		Hosts: []record.HostSummary{
			{Host: "a.example", Fetched: 800},
			{Host: "c.example", Fetched: 300},
			{Host: "same.example", Fetched: 5},
		},
	}
	for n := range maxChanged + 9 {
		now.Lost = append(now.Lost, givenUp(fmt.Sprintf("http://z.example/%d", n))...)
	}
	c := New("x", "Bot/1.0", time.Now(), time.Second)
	c.Before = &before
	text := write(t, c, now).text()
	for _, want := range []string{
		"fetched 1,200 1,100 −100",
		"not found 3 3 –",
		"given up 2 61 +59",
		"seconds 60 90 +30",
		"fetched of c.example 0 300 +300 fetched of a.example 1,000 800 −200 fetched of b.example 200 0 −200",
		"Lost only in this crawl: http://a.example/3 (given up)",
		"Lost only in the earlier crawl: http://a.example/1 (given up)",
		"10 more changes are not listed",
	} {
		if !strings.Contains(withoutSpaces(text), withoutSpaces(want)) {
			t.Errorf("report does not contain %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "fetched of same.example") {
		t.Error("report lists same.example, whose number of pages has not changed")
	}
}

// givenUp returns a record of each URL, with the verdict GivenUp.
func givenUp(urls ...string) (records []record.Record) {
	for _, u := range urls {
		records = append(records, record.Record{URL: u, Verdict: record.GivenUp, Status: 503})
	}
	return records
}

func TestWrite_NoEarlierCrawl(t *testing.T) {
	text := write(t, New("x", "Bot/1.0", time.Now(), time.Second), record.Summary{Fetched: 1}).text()
	if strings.Contains(text, "earlier crawl") {
		t.Errorf("report compares the crawl with an earlier one:\n%s", text)
	}
}
