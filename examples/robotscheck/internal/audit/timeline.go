package audit

import (
	"time"
)

// A timeline counts the requests and violations of robots in equal periods of
// time. If there were more than maxPeriods of them, their width is doubled.
type timeline struct {
	width       int64 // of a period, in seconds
	first, last int64 // the numbers of the first and the last period, counted from 1970
	all         periods
	robots      map[string]periods
}

// periods are the counts of a robot, by the number of the period.
type periods map[int64]activity

type activity struct{ requests, violations int }

const (
	maxPeriods = 512
	maxLanes   = 1000 // robots that have counts of their own
	maxColumns = 128  // of a chart
)

func newTimeline() *timeline {
	return &timeline{width: 1, all: make(periods), robots: make(map[string]periods)}
}

// add counts requests and violations of a robot at a time.
func (t *timeline) add(robot string, at time.Time, n activity) {
	number := at.Unix() / t.width
	if len(t.all) == 0 {
		t.first, t.last = number, number
	}
	t.first = min(t.first, number)
	t.last = max(t.last, number)
	t.all.add(number, n)
	lane := t.robots[robot]
	if lane == nil && len(t.robots) < maxLanes {
		lane = make(periods)
		t.robots[robot] = lane
	}
	if lane != nil {
		lane.add(number, n)
	}
	for t.last-t.first >= maxPeriods {
		t.doubleWidth()
	}
}

func (p periods) add(number int64, n activity) {
	sum := p[number]
	sum.requests += n.requests
	sum.violations += n.violations
	p[number] = sum
}

// doubleWidth merges each two periods into one.
func (t *timeline) doubleWidth() {
	t.width *= 2
	t.first /= 2
	t.last /= 2
	t.all = t.all.merged()
	for robot, lane := range t.robots {
		t.robots[robot] = lane.merged()
	}
}

func (p periods) merged() periods {
	half := make(periods, len(p)/2+1)
	for number, n := range p {
		half.add(number/2, n)
	}
	return half
}

// A column of a chart represents one or more periods.
type column struct {
	X, Width   float64 // in percent of the chart
	Requests   int
	Violations int
	Height     float64 // of the requests, in percent of the highest column
	MarkHeight float64 // of the violations, likewise
	From, To   time.Time
}

// Top returns where the column of requests begins, in percent of the height.
// The column extends down to the axis.
func (c column) Top() float64 { return 100 - c.Height }

// MarkTop returns where the column of violations begins, which is at the axis.
func (c column) MarkTop() float64 { return 0 }

// columns returns the columns of a chart that have a request or a violation.
// The charts of all robots have the same time axis.
func (t *timeline) columns(p periods) (columns []column) {
	if len(t.all) == 0 {
		return nil
	}
	each := (t.last-t.first)/maxColumns + 1
	n := float64((t.last-t.first)/each + 1)
	byIndex := make(map[int64]*column)
	maxRequests := 0
	maxViolations := 0
	for number := t.first; number <= t.last; number++ {
		sum := p[number]
		if sum == (activity{}) {
			continue
		}
		index := (number - t.first) / each
		c := byIndex[index]
		if c == nil {
			begin := (t.first + index*each) * t.width
			c = &column{
				X:     100 * float64(index) / n,
				Width: 100 / n,
				From:  time.Unix(begin, 0).UTC(),
				To:    time.Unix(begin+each*t.width, 0).UTC(),
			}
			byIndex[index] = c
		}
		c.Requests += sum.requests
		c.Violations += sum.violations
		maxRequests = max(maxRequests, c.Requests)
		maxViolations = max(maxViolations, c.Violations)
	}
	for index := int64(0); index < int64(n); index++ {
		c := byIndex[index]
		if c == nil {
			continue
		}
		const minMark = 25 // so that one violation is visible beside a thousand
		c.Height = 100 * float64(c.Requests) / float64(max(maxRequests, 1))
		if c.Violations > 0 {
			c.MarkHeight = minMark + (100-minMark)*float64(c.Violations)/float64(maxViolations)
		}
		columns = append(columns, *c)
	}
	return columns
}

// A tick is a label of the time axis below a chart.
type tick struct {
	X    float64 // in percent of the chart
	Text string
}

// ticks returns evenly spaced labels, from the beginning to the end of a chart.
func (t *timeline) ticks() (ticks []tick) {
	if len(t.all) == 0 {
		return nil
	}
	const count = 4
	from, to := t.first*t.width, (t.last+1)*t.width
	form := "2 Jan 15:04:05"
	switch length := time.Duration(to-from) * time.Second; {
	case length > 10*24*time.Hour:
		form = "2 Jan 2006"
	case length > 10*time.Minute:
		form = "2 Jan 15:04"
	}
	for i := range count + 1 {
		at := time.Unix(from+(to-from)*int64(i)/count, 0).UTC()
		ticks = append(ticks, tick{100 * float64(i) / count, at.Format(form)})
	}
	return ticks
}
