package report

import (
	"slices"
	"testing"
	"time"
)

func TestMeasurePace(t *testing.T) {
	const s = time.Second
	page := func(at, interval time.Duration) mark { return mark{at: at, interval: interval, letter: 'f'} }
	robots := func(at time.Duration) mark { return mark{at: at, interval: s, letter: robotsLetter} }
	busy := func(at, until time.Duration) mark {
		return mark{at: at, interval: s, letter: 'p', status: 429, paused: until}
	}
	notSent := func(at time.Duration) mark { return mark{at: at, took: -1, letter: 'b'} }
	for _, tt := range []struct {
		name     string
		marks    []mark
		earlyBy  []time.Duration
		tightest time.Duration // -1 ms if there is no gap
		required time.Duration
	}{
		{"no request", nil, []time.Duration{}, -time.Millisecond, 0},
		{
			"one request",
			[]mark{page(0, s)},
			[]time.Duration{0}, -time.Millisecond, 0,
		},
		{
			"requests in time",
			[]mark{page(0, s), page(s, s), page(3*s, s)},
			[]time.Duration{0, 0, 0}, s, s,
		},
		{
			"a request that is early by the tolerance",
			[]mark{page(0, s), page(s-tolerance, s)},
			[]time.Duration{0, 0}, s - tolerance, s,
		},
		{
			"an early request",
			[]mark{page(0, s), page(s/4, s)},
			[]time.Duration{0, 3 * s / 4}, s / 4, s,
		},
		{
			"unsorted marks",
			[]mark{page(s, s), page(0, s)},
			[]time.Duration{0, 0}, s, s,
		},
		{
			"a page that violates a Crawl-delay",
			[]mark{page(0, 5*s), page(2*s, 5*s)},
			[]time.Duration{0, 3 * s}, 2 * s, 5 * s,
		},
		{
			"robots.txt between pages with a Crawl-delay",
			[]mark{robots(0), page(s, 5*s), robots(2 * s), page(6*s, 5*s)},
			[]time.Duration{0, 0, 0, 0}, s, s,
		},
		{
			"an early page after a page and robots.txt",
			[]mark{page(0, 5*s), robots(s), page(2*s, 5*s)},
			[]time.Duration{0, 0, 3 * s}, s, 4 * s,
		},
		{
			"an early request for robots.txt",
			[]mark{page(0, 5*s), robots(s / 2)},
			[]time.Duration{0, s / 2}, s / 2, s,
		},
		{
			"a request after a pause",
			[]mark{busy(0, 3*s+s/10), page(3*s+s/10, s)},
			[]time.Duration{0, 0}, 3*s + s/10, 3*s + s/10,
		},
		{
			"a request during a pause",
			[]mark{busy(0, 3*s+s/10), page(2*s, s)},
			[]time.Duration{0, s + s/10}, 2 * s, 3*s + s/10,
		},
		{
			"a URL that was not requested",
			[]mark{page(0, s), notSent(s / 2), page(s, s)},
			[]time.Duration{0, 0, 0}, s, s,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := measurePace(tt.marks, s)
			if !slices.Equal(p.earlyBy, tt.earlyBy) {
				t.Errorf("measurePace returned earlyBy %v, want %v", p.earlyBy, tt.earlyBy)
			}
			if p.Tightest != ms(tt.tightest) || p.Required != ms(tt.required) {
				t.Errorf("tightest gap is %d ms where %d ms are required, want %d ms where %d ms are required",
					p.Tightest, p.Required, ms(tt.tightest), ms(tt.required))
			}
		})
	}
}

// Requests without a response do not count in the response times.
func TestMeasurePace_ResponseTimes(t *testing.T) {
	failed := mark{took: 30 * time.Second, letter: 'x'}
	fetched := mark{at: time.Minute, took: 2 * time.Second, status: 200, letter: 'f'}
	for _, tt := range []struct {
		name  string
		marks []mark
		want  int64
	}{
		{"a response and a failure", []mark{failed, fetched}, 2000},
		{"only a failure", []mark{failed}, -1},
	} {
		p := measurePace(tt.marks, time.Second)
		if p.Median != tt.want || p.Slowest != tt.want {
			t.Errorf("%s: median of the response times is %d ms and the slowest %d ms, want both %d", tt.name, p.Median, p.Slowest, tt.want)
		}
	}
}
