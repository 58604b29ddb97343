package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A host contains what a Ledger has recorded about a host. All ports of the
// host are counted together, because they share one pace.
type host struct {
	record.HostSummary
	last      time.Time          // when the host's latest page was requested
	paused    time.Time          // when the host's latest pause ends
	robotsTxt map[string]string  // by origin: the outcome of fetching its robots.txt
	intervals map[string]float64 // by origin: in seconds, the longer of -delay and Crawl-delay
}

// summary returns the host's part of the summary at the end of the crawl. A
// pause that ends after the time end counts only up to that time.
func (h *host) summary(end time.Time) record.HostSummary {
	s := h.HostSummary
	s.Paused = record.Seconds(record.Duration(s.Paused) - max(h.paused.Sub(end), 0))
	if intervals := slices.Sorted(maps.Values(h.intervals)); intervals != nil {
		s.Interval = intervals[0]
		if longest := intervals[len(intervals)-1]; longest > s.Interval {
			s.LongestInterval = longest
		}
	}
	s.RobotsTxt = h.robotsOutcomes(s.LongestInterval > 0)
	s.Addresses = max(len(h.robotsTxt), 1)
	return s
}

// robotsOutcomes returns the outcome of fetching the host's robots.txt. If
// there are several files, it names the origin of each. If withIntervals is
// true, it also contains the required interval of each.
func (h *host) robotsOutcomes(withIntervals bool) string {
	if len(h.robotsTxt) == 0 && len(h.intervals) > 0 {
		return "from an earlier crawl"
	}
	var outcomes []string
	for _, origin := range slices.Sorted(maps.Keys(h.robotsTxt)) {
		outcome := h.robotsTxt[origin]
		if len(h.robotsTxt) > 1 {
			outcome = origin + " " + outcome
		}
		if interval, ok := h.intervals[origin]; ok && withIntervals {
			outcome += ", interval " + seconds(interval)
		}
		outcomes = append(outcomes, outcome)
	}
	return strings.Join(outcomes, "; ")
}

// robotsSummary describes the outcome of fetching a robots.txt.
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
