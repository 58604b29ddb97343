package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Requests are added up to 90 seconds from their place, and leave in order,
// each of them once. Equal ones keep their order, but a request for robots.txt
// precedes the others of its time.
func TestWindow(t *testing.T) {
	const n = 5000
	r := rand.New(rand.NewPCG(1, 2))
	var w window
	w.newest = never
	var added, left []*event
	for i := range n {
		url := []string{"/a", "/robots.txt"}[r.IntN(2)]
		at := int64(i)*1e9 - r.Int64N(maxLogDisorder/1e9)*1e9
		e := &event{at: at, end: never, url: url}
		added = append(added, e)
		w.push(e)
		for e := w.pop(false); e != nil; e = w.pop(false) {
			left = append(left, e)
		}
	}
	if len(w.events) > 1000 || len(left) < n-1000 {
		t.Errorf("the window has room for %d events, and %d of %d have left it", len(w.events), len(left), n)
	}
	for e := w.pop(true); e != nil; e = w.pop(true) {
		left = append(left, e)
	}
	slices.SortStableFunc(added, func(e, f *event) int {
		switch {
		case e.before(f):
			return -1
		case f.before(e):
			return 1
		}
		return 0
	})
	if !slices.Equal(left, added) {
		t.Error("the events are not in order")
	}
	if w.bytes != 0 {
		t.Errorf("an empty window has %d bytes", w.bytes)
	}
}
