package cache

// A member of a positionHeap stores its position, so that it can be removed
// from the heap.
type member[T any] interface {
	isBefore(other T) bool
	position() *int // 1 + index in the heap; 0 if not in the heap
}

// A positionHeap is a heap.Interface. A member may be in one heap at most.
type positionHeap[T member[T]] []T

func (h positionHeap[T]) Len() int           { return len(h) }
func (h positionHeap[T]) Less(i, j int) bool { return h[i].isBefore(h[j]) }

func (h positionHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].position() = i + 1
	*h[j].position() = j + 1
}

func (h *positionHeap[T]) Push(x any) {
	m := x.(T)
	*h = append(*h, m)
	*m.position() = len(*h)
}

func (h *positionHeap[T]) Pop() any {
	old := *h
	last := len(old) - 1
	m := old[last]
	var none T
	old[last] = none
	*h = old[:last]
	*m.position() = 0
	return m
}
