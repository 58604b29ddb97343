package audit

import (
	"context"
	"slices"
)

// Read judges the requests of all inputs together, in the order of time. So the
// parts of a rotated log, and the logs of several front ends, may come in any
// order, as inputs of their own or one behind the other. If Read cannot read a
// line or a record, it counts the problem in Result.Broken and passes it to
// OnBroken. Read returns an error only if ctx ends, or if there is no room for
// a temporary file.
func (a *Auditor) Read(ctx context.Context, inputs ...Input) error {
	a.begin()
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
	var heads []*source // in the order of their next events
	for place, s := range opened {
		s.place, s.head = place, s.next()
		heads = s.insert(heads)
	}
	for len(heads) > 0 {
		s := heads[0]
		a.add(s.head)
		if s.head = s.next(); s.head != nil && (len(heads) == 1 || s.before(heads[1])) {
			continue
		}
		heads = s.insert(slices.Delete(heads, 0, 1))
	}
	return ctx.Err()
}

// insert puts a source into its place, unless it has no more events.
func (s *source) insert(heads []*source) []*source {
	if s.head == nil {
		return heads
	}
	i, _ := slices.BinarySearchFunc(heads, s, func(a, b *source) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return slices.Insert(heads, i, s)
}

func (s *source) before(t *source) bool {
	at, other := s.head.time(), t.head.time()
	return at < other || at == other && s.place < t.place
}
