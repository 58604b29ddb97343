package cache

import "errors"

// ErrNoRoom is the cause with which the context of a flight ends if the cache
// has ended the flight because of its memory.
var ErrNoRoom = errors.New("robotsmw: no request waited for this robots.txt, and unfinished ones took too much memory")

// flightSize is roughly how many bytes a fetch takes besides its answer: the
// buffers of its connection and the stacks of its goroutines.
const flightSize = 32 << 10

// flightHeap orders flights by their beginning.
type flightHeap []*Flight

func (h flightHeap) Len() int           { return len(h) }
func (h flightHeap) Less(i, j int) bool { return h[i].number < h[j].number }
func (h flightHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i+1, j+1
}
func (h *flightHeap) Push(x any) {
	f := x.(*Flight)
	*h = append(*h, f)
	f.at = len(*h)
}
func (h *flightHeap) Pop() any {
	old := *h
	f := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	f.at = 0
	return f
}
