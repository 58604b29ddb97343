package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A host is what a Ledger knows about a host. All ports count together, because
// they share one pace.
type host struct {
	record.HostSummary
	last      time.Time          // when the host's latest page was requested
	paused    time.Time          // the time until which the host is left alone
	answers   map[string]string  // by origin: the outcome of fetching its robots.txt
	intervals map[string]float64 // by origin: how many seconds are owed between two pages, by robots.txt
}

// summary returns the host's part of the summary at the end of the crawl. If
// the host has several robots.txt files, the summary names the origin of each,
// and the intervals if they differ. A pause that ends after the time end counts
// only up to that time.
func (h *host) summary(end time.Time) record.HostSummary {
	s := h.HostSummary
	s.Paused = record.Seconds(record.Duration(s.Paused) - max(h.paused.Sub(end), 0))
	if intervals := slices.Sorted(maps.Values(h.intervals)); intervals != nil {
		s.Interval = intervals[0]
		if longest := intervals[len(intervals)-1]; longest > s.Interval {
			s.LongestInterval = longest
		}
	}
	var answers []string
	for _, origin := range slices.Sorted(maps.Keys(h.answers)) {
		answer := h.answers[origin]
		if len(h.answers) > 1 {
			answer = origin + " " + answer
		}
		if interval, ok := h.intervals[origin]; ok && s.LongestInterval > 0 {
			answer += ", " + seconds(interval) + " owed"
		}
		answers = append(answers, answer)
	}
	s.RobotsTxt = strings.Join(answers, "; ")
	if answers == nil && len(h.intervals) > 0 {
		s.RobotsTxt = "kept from before"
	}
	s.Addresses = max(len(h.answers), 1)
	return s
}

func robotsSummary(r record.Record) string {
	switch {
	case r.Error != "":
		return "nothing allowed: " + record.Printable(r.Error)
	case r.Status >= 400:
		return fmt.Sprintf("%d: everything allowed", r.Status)
	case r.Redirects > 0:
		return fmt.Sprintf("%d after %s", r.Status, record.Count(r.Redirects, "redirect"))
	}
	return fmt.Sprint(r.Status)
}
