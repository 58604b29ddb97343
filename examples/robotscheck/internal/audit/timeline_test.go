package audit

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A chart has a bounded number of columns, however long the log is, and they
// contain all requests and violations.
func TestTimeline(t *testing.T) {
	for _, tt := range []struct {
		name     string
		length   time.Duration
		requests int
	}{
		{"one request", 0, 1},
		{"a second", time.Second, 2},
		{"ten minutes", 10 * time.Minute, 100},
		{"a day", 24 * time.Hour, 5000},
		{"ten years", 10 * 365 * 24 * time.Hour, 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			times := spread(tt.length, tt.requests)
			checkTimeline(t, times)
		})
		t.Run(tt.name+" backwards", func(t *testing.T) {
			times := spread(tt.length, tt.requests)
			slices.Reverse(times)
			checkTimeline(t, times)
		})
	}
}

var timelineStart = time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)

// spread returns evenly spaced times, from timelineStart to length after it.
func spread(length time.Duration, n int) []time.Time {
	times := make([]time.Time, n)
	for i := range times {
		interval := length / time.Duration(max(n-1, 1))
		times[i] = timelineStart.Add(interval * time.Duration(i))
	}
	return times
}

// checkTimeline checks the chart of two robots with a request at each of these
// times, and one violation.
func checkTimeline(t *testing.T, times []time.Time) {
	t.Helper()
	line := newTimeline()
	for i, at := range times {
		robot := fmt.Sprintf("Bot%d", i%2)
		line.add(robot, at, activity{requests: 1})
		if i == len(times)/2 {
			line.add(robot, at, activity{violations: 1})
		}
	}
	if len(line.all) > maxPeriods {
		t.Errorf("timeline has %d periods, want at most %d", len(line.all), maxPeriods)
	}
	columns := line.columns(line.all)
	if len(columns) > maxColumns {
		t.Errorf("chart has %d columns, want at most %d", len(columns), maxColumns)
	}
	requests := 0
	violations := 0
	end := 0.0 // of the previous column
	for _, c := range columns {
		requests += c.Requests
		violations += c.Violations
		checkColumn(t, c)
		if c.X < end-0.001 {
			t.Errorf("a column begins at %f, before the end of the previous one at %f", c.X, end)
		}
		end = c.X + c.Width
	}
	if requests != len(times) || violations != 1 {
		t.Errorf("columns have %d requests and %d violations, want %d and 1",
			requests, violations, len(times))
	}
	first := slices.MinFunc(times, time.Time.Compare)
	last := slices.MaxFunc(times, time.Time.Compare)
	if from := columns[0].From; from.After(first) {
		t.Errorf("chart begins at %v, want at most the time of the first request, %v", from, first)
	}
	if to := columns[len(columns)-1].To; to.Before(last) {
		t.Errorf("chart ends at %v, want at least the time of the last request, %v", to, last)
	}
	ticks := line.ticks()
	if len(ticks) != 5 || ticks[0].X != 0 || ticks[4].X != 100 {
		t.Errorf("ticks are %v, want 5 from 0 to 100 %%", ticks)
	}
}

func checkColumn(t *testing.T, c column) {
	t.Helper()
	if !c.To.After(c.From) {
		t.Errorf("the column %+v has no duration, want To after From", c)
	}
	if c.X < 0 || c.X+c.Width > 100.001 {
		t.Errorf("the column %+v extends beyond the chart, want it within 0 to 100 %%", c)
	}
	if c.Height <= 0 || c.Height > 100 {
		t.Errorf("column has a height of %f, want more than 0 and at most 100", c.Height)
	}
	hasMark := c.MarkHeight > 0
	if hasViolation := c.Violations > 0; hasMark != hasViolation {
		t.Errorf("column with %d violations has a mark of height %f, want a mark if and only if there are violations", c.Violations, c.MarkHeight)
	}
}

func TestTimeline_Empty(t *testing.T) {
	line := newTimeline()
	if got := line.columns(line.all); got != nil {
		t.Errorf("empty timeline has the columns %v, want none", got)
	}
	if got := line.ticks(); got != nil {
		t.Errorf("empty timeline has the ticks %v, want none", got)
	}
}

// If there are very many robots, some are counted only in the chart of all.
func TestTimeline_ManyRobots(t *testing.T) {
	line := newTimeline()
	for i := range 3 * maxLanes {
		line.add(fmt.Sprint(i), timelineStart, activity{requests: 1})
	}
	if len(line.robots) != maxLanes {
		t.Errorf("%d robots have a lane, want %d", len(line.robots), maxLanes)
	}
	if got := line.columns(line.all)[0].Requests; got != 3*maxLanes {
		t.Errorf("chart of all robots has %d requests, want %d", got, 3*maxLanes)
	}
}
