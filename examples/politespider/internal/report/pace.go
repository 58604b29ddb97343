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
	earlyBy []time.Duration // by how much each request was too early; 0 if it was not
	Early   int             `json:"early"` // how many requests were too early

	// Tightest and Owed describe the pair of consecutive requests whose gap
	// exceeded the required interval by the least, or fell short of it by the
	// most. Tightest is the gap, or -1 if there are fewer than two requests.
	// Owed is the required interval.
	Tightest int64 `json:"tightest"`
	Owed     int64 `json:"owed"`

	// The next four fields describe the times until a response began. They are
	// negative if there was no response.
	Median  int64 `json:"median"`
	P90     int64 `json:"p90"`
	P99     int64 `json:"p99"`
	Slowest int64 `json:"slowest"`
	Answers int   `json:"answers"` // number of requests with a response
}

// measurePace sorts the marks by time, and measures how they kept the pace of
// the host. Between two pages, at least the interval of the host must pass,
// which the marks contain. Between any two requests, at least the interval of
// the crawl must pass, which is the second argument. No request may be sent
// during a pause that a response has caused.
func measurePace(marks []mark, interval time.Duration) pace {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	p := pace{
		earlyBy:  make([]time.Duration, len(marks)),
		Tightest: -1,
		Median:   -1,
		P90:      -1,
		P99:      -1,
		Slowest:  -1,
	}
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
				p.earlyBy[i] = early
				p.Early++
			}
			gap := ms(m.at - last)
			owed := ms(owedFrom - last)
			if p.Tightest < 0 || gap-owed < p.Tightest-p.Owed {
				p.Tightest = gap
				p.Owed = owed
			}
		}
		if m.status != 0 {
			took = append(took, m.took)
		}
		last = m.at
		free = max(free, m.at+interval, m.paused)
		freeForPages = max(freeForPages, m.at+m.owed)
	}
	p.Answers = len(took)
	if p.Answers > 0 {
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
