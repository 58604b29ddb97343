package audit

import "time"

// A timeline counts the requests and violations of robots in periods of equal
// width. The width is doubled when there would be more than maxPeriods.
type timeline struct {
	width       int64 // of a period, in seconds
	first, last int64 // numbers of the first and the last period, counted from 1970
	all         periods
	robots      map[string]periods
}

// periods contains the counts of a robot, by the number of the period.
type periods map[int64]activity

type activity struct{ requests, violations int }

const (
	maxPeriods = 512
	maxLanes   = 1000 // robots with counts of their own
	maxColumns = 128  // of a chart
)

func newTimeline() *timeline {
	return &timeline{width: 1, all: make(periods), robots: make(map[string]periods)}
}

// add adds requests and violations of a robot at this time.
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

// doubleWidth merges pairs of periods.
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
	MarkHeight float64 // of the violations, in percent of the highest column
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
	periodsPerColumn := (t.last-t.first)/maxColumns + 1
	count := (t.last-t.first)/periodsPerColumn + 1
	for index := range count {
		first := t.first + index*periodsPerColumn
		sum := p.sum(first, first+periodsPerColumn)
		if sum == (activity{}) {
			continue
		}
		columns = append(columns, column{
			X:          100 * float64(index) / float64(count),
			Width:      100 / float64(count),
			Requests:   sum.requests,
			Violations: sum.violations,
			From:       t.begin(first),
			To:         t.begin(first + periodsPerColumn),
		})
	}
	setHeights(columns)
	return columns
}

// sum returns the sum of the counts of the periods from first to end-1.
func (p periods) sum(first, end int64) (sum activity) {
	for number := first; number < end; number++ {
		sum.requests += p[number].requests
		sum.violations += p[number].violations
	}
	return sum
}

// begin returns the time at which a period begins.
func (t *timeline) begin(number int64) time.Time { return time.Unix(number*t.width, 0).UTC() }

func setHeights(columns []column) {
	maxRequests := 1
	maxViolations := 1
	for _, c := range columns {
		maxRequests = max(maxRequests, c.Requests)
		maxViolations = max(maxViolations, c.Violations)
	}
	const minMark = 25 // so that one violation is visible beside a thousand
	for i := range columns {
		c := &columns[i]
		c.Height = 100 * float64(c.Requests) / float64(maxRequests)
		if c.Violations > 0 {
			c.MarkHeight = minMark + (100-minMark)*float64(c.Violations)/float64(maxViolations)
		}
	}
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
	const intervals = 4
	begin := t.first * t.width
	length := (t.last + 1 - t.first) * t.width
	layout := tickLayout(time.Duration(length) * time.Second)
	for i := range intervals + 1 {
		at := time.Unix(begin+length*int64(i)/intervals, 0).UTC()
		ticks = append(ticks, tick{100 * float64(i) / intervals, at.Format(layout)})
	}
	return ticks
}

// tickLayout returns the layout of the labels for a chart of this length.
func tickLayout(length time.Duration) string {
	if length > 10*24*time.Hour {
		return "2 Jan 2006"
	}
	if length > 10*time.Minute {
		return "2 Jan 15:04"
	}
	return "2 Jan 15:04:05"
}
