package audit

import "github.com/goodbots/courtesy/robotsmw/evidence/audit"

// maxReported is how many lines of an input are reported for one problem. More
// lines with the same problem are only counted.
const maxReported = 10

// The type "repeats" reports broken lines and records. Many lines of an input
// may have the same problem, for example if the input is a picture. Then only
// the first ones are reported, and the others are counted.
type repeats struct {
	tell  func(audit.Broken)
	times map[problem]int
	last  map[problem]int // the last line with the problem; set if more than maxReported lines have it
	order []problem       // the problems that more than maxReported lines have
}

type problem struct{ input, text string }

func (r *repeats) add(b audit.Broken) {
	if r.times == nil {
		r.times, r.last = make(map[problem]int), make(map[problem]int)
	}
	p := problem{b.Input, b.Err.Error()}
	r.times[p]++
	switch n := r.times[p]; {
	case n <= maxReported:
		r.tell(b)
		return
	case n == maxReported+1:
		r.order = append(r.order, p)
	}
	r.last[p] = b.Line
}

// end() says how many lines and records were not reported.
func (r *repeats) end(say func(format string, args ...any)) {
	for _, p := range r.order {
		say("… and %s like it, up to %s:%d: %s", linesOrRecords(r.times[p]-maxReported, "more "), p.input, r.last[p], p.text)
	}
}
