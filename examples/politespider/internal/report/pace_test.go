package report

import (
	"slices"
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const s = time.Second
	page := func(at, owed time.Duration) mark { return mark{at: at, owed: owed, letter: 'f'} }
	robots := func(at time.Duration) mark { return mark{at: at, owed: s, letter: robotsTxt} }
	busy := func(at, until time.Duration) mark {
		return mark{at: at, owed: s, letter: 'l', status: 429, paused: until}
	}
	nothing := func(at time.Duration) mark { return mark{at: at, took: -1, letter: 'b'} }
	tests := []struct {
		name     string
		marks    []mark
		earlyBy  []time.Duration
		tightest int64 // in milliseconds; -1 if there is no gap
		owed     time.Duration
	}{
		{"no request", nil, []time.Duration{}, -1, 0},
		{"one request", []mark{page(0, s)}, []time.Duration{0}, -1, 0},
		{"a second apart", []mark{page(0, s), page(s, s), page(3*s, s)}, []time.Duration{0, 0, 0}, ms(s), s},
		{"within what a clock can be wrong by", []mark{page(0, s), page(s-tolerance, s)}, []time.Duration{0, 0}, ms(s - tolerance), s},
		{"too early", []mark{page(0, s), page(s/4, s)}, []time.Duration{0, 3 * s / 4}, ms(s / 4), s},
		{"in the order of their starts", []mark{page(s, s), page(0, s)}, []time.Duration{0, 0}, ms(s), s},
		{"Crawl-delay", []mark{page(0, 5*s), page(2*s, 5*s)}, []time.Duration{0, 3 * s}, ms(2 * s), 5 * s},
		{"robots.txt is no page to a Crawl-delay", []mark{robots(0), page(s, 5*s), robots(2 * s), page(6*s, 5*s)}, []time.Duration{0, 0, 0, 0}, ms(s), s},
		{"a page after a page, with robots.txt between", []mark{page(0, 5*s), robots(s), page(2*s, 5*s)}, []time.Duration{0, 0, 3 * s}, ms(s), 4 * s},
		{"robots.txt too early", []mark{page(0, 5*s), robots(s / 2)}, []time.Duration{0, s / 2}, ms(s / 2), s},
		{"after a pause", []mark{busy(0, 3*s+s/10), page(3*s+s/10, s)}, []time.Duration{0, 0}, ms(3*s + s/10), 3*s + s/10},
		{"in a pause", []mark{busy(0, 3*s+s/10), page(2*s, s)}, []time.Duration{0, s + s/10}, ms(2 * s), 3*s + s/10},
		{"what was not sent costs nothing", []mark{page(0, s), nothing(s / 2), page(s, s)}, []time.Duration{0, 0, 0}, ms(s), s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := measurePace(tt.marks, s)
			if !slices.Equal(p.earlyBy, tt.earlyBy) {
				t.Errorf("early by %v, want %v", p.earlyBy, tt.earlyBy)
			}
			if p.Tightest != tt.tightest || p.Owed != ms(tt.owed) {
				t.Errorf("tightest gap %d ms of %d, want %d of %d", p.Tightest, p.Owed, tt.tightest, ms(tt.owed))
			}
		})
	}
}

// Requests without a response do not count in the response times.
func TestPace_AnswerTimes(t *testing.T) {
	const failed = 30 * time.Second
	p := measurePace([]mark{{took: failed, letter: 'x'}, {at: time.Minute, took: 2 * time.Second, status: 200, letter: 'f'}}, time.Second)
	if p.Median != 2000 || p.Slowest != 2000 {
		t.Errorf("median %v, slowest %v; want 2000", p.Median, p.Slowest)
	}
	if p := measurePace([]mark{{took: failed, letter: 'x'}}, time.Second); p.Median >= 0 || p.Slowest >= 0 {
		t.Errorf("without an answer: median %v, slowest %v; want negative ones", p.Median, p.Slowest)
	}
}
