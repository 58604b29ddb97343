package audit

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Events that are added up to 90 seconds out of order are popped in order, each
// of them once. Events with the same time keep their order, except that a
// request for robots.txt precedes the others.
func TestWindow(t *testing.T) {
	const n = 5000
	r := rand.New(rand.NewPCG(1, 2))
	var w window
	w.newest = never
	var added, popped []*event
	for i := range n {
		url := []string{"/a", "/robots.txt"}[r.IntN(2)]
		at := int64(i)*1e9 - r.Int64N(maxLogDisorder/1e9)*1e9
		e := &event{at: at, end: never, url: url}
		added = append(added, e)
		w.push(e)
		for e := w.pop(false); e != nil; e = w.pop(false) {
			popped = append(popped, e)
		}
	}
	if len(w.events) > 1000 {
		t.Errorf("the slice of the window has %d elements, want at most 1000", len(w.events))
	}
	if len(popped) < n-1000 {
		t.Errorf("%d events were popped, want at least %d", len(popped), n-1000)
	}
	for e := w.pop(true); e != nil; e = w.pop(true) {
		popped = append(popped, e)
	}
	slices.SortStableFunc(added, func(e, f *event) int {
		if e.before(f) {
			return -1
		}
		if f.before(e) {
			return 1
		}
		return 0
	})
	if !slices.Equal(popped, added) {
		t.Error("the popped events differ from the added ones in order, want the same")
	}
	if w.bytes != 0 {
		t.Errorf("the size of the empty window is %d, want 0", w.bytes)
	}
}
