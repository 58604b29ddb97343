package audit

import "github.com/goodbots/courtesy/robotsmw/evidence/audit"

// few is how many lines of an input are named that have the same problem.
const few = 10

// repeats tells of broken lines and records. If many in an input have the same
// problem, as the lines of a picture do, it tells only of the first ones, and
// counts the others.
type repeats struct {
	tell  func(audit.Broken)
	times map[problem]int
	last  map[problem]int // the last line, if there are more than few
	order []problem       // those with more than few lines
}

type problem struct{ input, text string }

func (r *repeats) add(b audit.Broken) {
	if r.times == nil {
		r.times, r.last = make(map[problem]int), make(map[problem]int)
	}
	p := problem{b.Input, b.Err.Error()}
	r.times[p]++
	switch n := r.times[p]; {
	case n <= few:
		r.tell(b)
		return
	case n == few+1:
		r.order = append(r.order, p)
	}
	r.last[p] = b.Line
}

// end says how many lines and records add has not told of.
func (r *repeats) end(say func(format string, args ...any)) {
	for _, p := range r.order {
		say("… and %s like it, up to %s:%d: %s", linesOrRecords(r.times[p]-few, "more "), p.input, r.last[p], p.text)
	}
}
