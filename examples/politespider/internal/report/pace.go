package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// robotsLetter is the letter of the marks of requests for robots.txt.
var robotsLetter = record.RobotsTxt.Letter()

// tolerance allows for times that are rounded to the millisecond.
const tolerance = 2 * time.Millisecond

// A pace describes whether the requests to a host were too early, and how fast
// the host responded. Times are in milliseconds.
type pace struct {
	earlyBy []time.Duration // by how much each request was too early; 0 if it was not
	Early   int             `json:"early"` // how many requests were too early

	// Tightest and Required describe the pair of consecutive requests whose gap
	// exceeded the required interval by the least, or fell short of it by the
	// most. Tightest is the gap, or -1 if there are fewer than two requests.
	// Required is the required interval.
	Tightest int64 `json:"tightest"`
	Required int64 `json:"required"`

	// The next four fields describe the times until a response began. They are
	// negative if there was no response.
	Median  int64 `json:"median"`
	P90     int64 `json:"p90"`
	P99     int64 `json:"p99"`
	Slowest int64 `json:"slowest"`

	Responses int `json:"responses"` // number of requests with a response
}

// measurePace sorts the marks by time, and measures how they kept the pace of
// the host. A mark's own interval must pass between its page and the next page.
// The crawl's interval, which is the second argument, must pass between any two
// requests. During a pause that a response has caused, no request may be sent.
func measurePace(marks []mark, interval time.Duration) pace {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	p := pace{earlyBy: make([]time.Duration, len(marks)), Tightest: -1}
	var due, pageDue time.Duration    // when the next request, and the next page, may be sent
	previous := time.Duration(-1)     // when the latest request was sent; -1 if there was none
	var responseTimes []time.Duration // of the requests with a response
	for i, m := range marks {
		if m.took < 0 {
			continue // no request was sent
		}
		earliest := due
		if m.letter != robotsLetter {
			earliest = max(due, pageDue)
		}
		if early := earliest - m.at; previous >= 0 && early > tolerance {
			p.earlyBy[i] = early
			p.Early++
		}
		if previous >= 0 {
			p.addGap(ms(m.at-previous), ms(earliest-previous))
		}
		if m.status != 0 {
			responseTimes = append(responseTimes, m.took)
		}
		previous = m.at
		due = max(due, m.at+interval, m.paused)
		pageDue = max(pageDue, m.at+m.interval)
	}
	p.setResponseTimes(responseTimes)
	return p
}

// addGap updates Tightest and Required with the gap between two requests and
// the interval that was required between them.
func (p *pace) addGap(gap, required int64) {
	if p.Tightest < 0 || gap-required < p.Tightest-p.Required {
		p.Tightest = gap
		p.Required = required
	}
}

// setResponseTimes sets the fields on response times. It sorts the times.
func (p *pace) setResponseTimes(times []time.Duration) {
	p.Responses = len(times)
	if len(times) == 0 {
		p.Median = -1
		p.P90 = -1
		p.P99 = -1
		p.Slowest = -1
		return
	}
	slices.Sort(times)
	// This is the nearest-rank method: the p90 of ten values is the ninth.
	percentile := func(p int) int64 { return ms(times[(len(times)*p+99)/100-1]) }
	p.Median = ms(times[len(times)/2])
	p.P90 = percentile(90)
	p.P99 = percentile(99)
	p.Slowest = percentile(100)
}
