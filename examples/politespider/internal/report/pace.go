package report

import (
	"cmp"
	"slices"
	"time"
)

// tolerance allows for times that are rounded to the millisecond.
const tolerance = 2 * time.Millisecond

// A pace says whether the requests to a host came too early, and how fast the
// host answered.
type pace struct {
	early   []time.Duration // by how much each mark came too early; 0 if it did not
	earlies int
	sent    int
	answers int // how many requests were answered

	// These two fields are about the pair of consecutive requests that came
	// closest to breaking the pace, or broke it most. The first is the time
	// that passed between the two requests, or -1 if there were fewer than two.
	// The second is the time that had to pass.
	smallest time.Duration
	owed     time.Duration

	// These four fields are about the times until an answer began. They are
	// negative if no answer came.
	median   time.Duration
	p90, p99 time.Duration
	slowest  time.Duration
}

// paceOf sorts the marks by time and compares them with the host's pace.
// Between two pages, at least the host's interval must pass. Between any two
// requests, at least the interval of the crawl must pass, which is the second
// argument. No request may be sent during a pause that an answer has caused.
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
		if m.status != 0 {
			took = append(took, m.took)
		}
		last = m.at
		free = max(free, m.at+interval, m.paused)
		freeForPages = max(freeForPages, m.at+m.owed)
	}
	p.median, p.p90, p.p99, p.slowest = -time.Millisecond, -time.Millisecond, -time.Millisecond, -time.Millisecond
	if p.answers = len(took); p.answers > 0 {
		slices.Sort(took)
		// This is the nearest-rank method: the p90 of ten values is the ninth.
		rank := func(percent int) time.Duration { return took[(len(took)*percent+99)/100-1] }
		p.median, p.p90, p.p99, p.slowest = took[len(took)/2], rank(90), rank(99), took[len(took)-1]
	}
	return p
}
