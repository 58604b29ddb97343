package output

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A host is what a Ledger knows about a host. All ports count together, because
// they share one pace.
type host struct {
	record.HostSummary
	last    time.Time         // when the host's latest page was requested
	paused  time.Time         // the time until which the host is left alone
	answers map[string]string // the key is an origin, the value the outcome of fetching its robots.txt
	decided bool              // whether robots.txt has decided about a page
}

func (h *host) answered(r record.Record) {
	if h.answers == nil {
		h.answers = make(map[string]string)
	}
	address := r.URL
	if u, err := url.Parse(r.URL); err == nil {
		address = u.Scheme + "://" + u.Host
	}
	h.answers[address] = robotsSummary(r)
}

// summary returns the host's part of the summary at the end of the crawl. If
// the host has several robots.txt files, the summary names the origin of each.
// A pause that ends after the given time counts only up to that time.
func (h *host) summary(end time.Time) record.HostSummary {
	s := h.HostSummary
	s.Paused = record.Seconds(duration(s.Paused) - max(h.paused.Sub(end), 0))
	var answers []string
	for _, address := range slices.Sorted(maps.Keys(h.answers)) {
		if answer := h.answers[address]; len(h.answers) > 1 {
			answers = append(answers, address+" "+answer)
		} else {
			answers = append(answers, answer)
		}
	}
	s.RobotsTxt = strings.Join(answers, "; ")
	if answers == nil && h.decided {
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

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
