package report

import (
	"cmp"
	"slices"
	"time"
)

// tolerance is what times that are exact to the millisecond can be wrong by.
const tolerance = 2 * time.Millisecond

// pace is how a host was treated.
type pace struct {
	early    []time.Duration // of each mark: how much too soon it came; 0: it did not
	earlies  int
	sent     int
	smallest time.Duration // between the starts of two requests that follow each other; -1: there were no two
	owed     time.Duration // then
	median   time.Duration // until an answer began; the others likewise
	p90, p99 time.Duration
	slowest  time.Duration
}

// paceOf sorts the marks by time and holds them against what the host was owed:
// a page comes an interval after the page before, anything comes the crawl's
// own interval after anything, and nothing comes while the host has asked for a
// pause.
func paceOf(marks []mark, interval time.Duration) pace {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	p := pace{early: make([]time.Duration, len(marks)), smallest: -1}
	var last, free, freeForPages time.Duration
	var took []time.Duration
	for i, m := range marks {
		if m.took < 0 {
			continue
		}
		owedFrom := free
		if m.letter != robotsTxt {
			owedFrom = max(free, freeForPages)
		}
		if p.sent > 0 {
			if early := owedFrom - m.at; early > tolerance {
				p.early[i] = early
				p.earlies++
			}
			gap, owed := m.at-last, owedFrom-last
			if p.smallest < 0 || gap-owed < p.smallest-p.owed {
				p.smallest, p.owed = gap, owed
			}
		}
		p.sent++
		took = append(took, m.took)
		last = m.at
		free = max(free, m.at+interval, m.paused)
		freeForPages = max(freeForPages, m.at+m.owed)
	}
	if len(took) > 0 {
		slices.Sort(took)
		// The nearest rank: of ten, the ninth is p90.
		rank := func(percent int) time.Duration { return took[(len(took)*percent+99)/100-1] }
		p.median, p.p90, p.p99, p.slowest = took[len(took)/2], rank(90), rank(99), took[len(took)-1]
	}
	return p
}
