package report

import (
	"cmp"
	"slices"
	"time"
)

// tolerance allows for times that are rounded to the millisecond.
const tolerance = 2 * time.Millisecond

// A pace describes whether the requests to a host were too early, and how fast
// the host responded. Times are in milliseconds.
type pace struct {
	early []time.Duration // by how much each mark came too early; 0 if it did not
	Early int             `json:"early"` // how many requests came too early

	// These two fields are about the pair of consecutive requests that came
	// closest to breaking the pace, or broke it most. The first is the time
	// that passed between the two requests, or -1 if there were fewer than two.
	// The second is the time that had to pass.
	Tightest int64 `json:"tightest"`
	Owed     int64 `json:"owed"`

	// These four fields are about the times until an answer began. They are
	// negative if no answer came.
	Median  int64 `json:"median"`
	P90     int64 `json:"p90"`
	P99     int64 `json:"p99"`
	Slowest int64 `json:"slowest"`
	Answers int   `json:"answers"` // how many requests were answered
}

// paceOf sorts the marks by time and compares them with the host's pace.
// Between two pages, at least the host's interval must pass. Between any two
// requests, at least the interval of the crawl must pass, which is the second
// argument. No request may be sent during a pause that an answer has caused.
func paceOf(marks []mark, interval time.Duration) pace {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	p := pace{early: make([]time.Duration, len(marks)), Tightest: -1, Median: -1, P90: -1, P99: -1, Slowest: -1}
	var free, freeForPages time.Duration
	last := time.Duration(-1) // when the latest request was sent
	var took []time.Duration
	for i, m := range marks {
		if m.took < 0 {
			continue
		}
		owedFrom := free
		if m.letter != robotsTxt {
			owedFrom = max(free, freeForPages)
		}
		if last >= 0 {
			if early := owedFrom - m.at; early > tolerance {
				p.early[i] = early
				p.Early++
			}
			if gap, owed := ms(m.at-last), ms(owedFrom-last); p.Tightest < 0 || gap-owed < p.Tightest-p.Owed {
				p.Tightest, p.Owed = gap, owed
			}
		}
		if m.status != 0 {
			took = append(took, m.took)
		}
		last = m.at
		free = max(free, m.at+interval, m.paused)
		freeForPages = max(freeForPages, m.at+m.owed)
	}
	if p.Answers = len(took); p.Answers > 0 {
		slices.Sort(took)
		// This is the nearest-rank method: the p90 of ten values is the ninth.
		rank := func(percent int) int64 { return ms(took[(len(took)*percent+99)/100-1]) }
		p.Median = ms(took[len(took)/2])
		p.P90 = rank(90)
		p.P99 = rank(99)
		p.Slowest = rank(100)
	}
	return p
}
