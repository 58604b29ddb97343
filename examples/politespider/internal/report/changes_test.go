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
	lost := func(urls ...string) (all []record.Record) {
		for _, u := range urls {
			all = append(all, record.Record{URL: u, Verdict: record.GivenUp, Status: 503})
		}
		return all
	}
	before := record.Summary{
		Seconds: 60, Fetched: 1200, NotFound: 3, GivenUp: 2, Lost: lost("http://a.example/1", "http://a.example/2"),
		Hosts: []record.HostSummary{{Host: "a.example", Fetched: 1000}, {Host: "b.example", Fetched: 200}, {Host: "same.example", Fetched: 5}},
	}
	now := record.Summary{
		Seconds: 90, Fetched: 1100, NotFound: 3, GivenUp: 61, Lost: lost("http://a.example/2", "http://a.example/3"),
		Hosts: []record.HostSummary{{Host: "a.example", Fetched: 800}, {Host: "c.example", Fetched: 300}, {Host: "same.example", Fetched: 5}},
	}
	for n := range maxChanged + 9 {
		now.Lost = append(now.Lost, lost(fmt.Sprintf("http://z.example/%d", n))...)
	}
	c := New("x", "Bot/1.0", time.Now(), time.Second)
	c.Before = &before
	text := strings.Join(strings.Fields(write(t, c, now).text()), "")
	for _, want := range []string{
		"fetched 1,200 1,100 −100", "not found 3 3 –", "given up 2 61 +59", "seconds 60 90 +30",
		"fetched of c.example 0 300 +300 fetched of a.example 1,000 800 −200 fetched of b.example 200 0 −200",
		"Lost only in this crawl: http://a.example/3 (given up)",
		"Lost only in the earlier crawl: http://a.example/1 (given up)",
		"10 more changes are not listed",
	} {
		if !strings.Contains(text, strings.ReplaceAll(want, " ", "")) {
			t.Errorf("page does not contain %q", want)
		}
	}
	if strings.Contains(text, "fetchedofsame.example") {
		t.Error("a host whose pages are as many as they were is listed")
	}
	if text := write(t, New("x", "Bot/1.0", time.Now(), time.Second), now).text(); strings.Contains(text, "earlier crawl") {
		t.Error("there is a section on changes, and nothing to compare with")
	}
}
