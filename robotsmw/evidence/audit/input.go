package audit

import "context"

// Read judges the requests of all inputs together, in the order of time. So the
// parts of a rotated log, and the logs of several front ends, may come in any
// order, as inputs of their own or one behind the other. If Read cannot read a
// line or a record, it counts the problem in Result.Broken and passes it to
// OnBroken. Read returns an error only if ctx ends, or if there is no room for
// a temporary file.
func (a *Auditor) Read(ctx context.Context, inputs ...Input) error {
	a.begin()
	heads := heapOf[*source]{before: func(s, t *source) bool {
		return s.head.time() < t.head.time() || s.head.time() == t.head.time() && s.place < t.place
	}}
	var opened []*source
	for _, in := range inputs {
		o := opener{a: a, ctx: ctx, name: in.Name}
		defer o.close()
		parts, err := o.open(in.Reader)
		if err != nil {
			return err
		}
		opened = append(opened, parts...)
	}
	// Only now is it known when the first line was, and whether any robot asks
	// for robots.txt.
	for place, s := range opened {
		if s.place, s.head = place, s.next(); s.head != nil {
			heads.push(s)
		}
	}
	for len(heads.items) > 0 {
		s := heads.items[0]
		a.add(s.head)
		if s.head = s.next(); s.head == nil {
			heads.pop()
		} else {
			heads.sink()
		}
	}
	return ctx.Err()
}
