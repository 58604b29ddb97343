package htmlmeta

import "sync"

// bufferSizes are the capacities of the buffers, which are pooled by size.
var bufferSizes = [...]int{32 << 10, 128 << 10, Window}

var pools [len(bufferSizes)]sync.Pool // of *[]byte

// grow returns a buffer with the content of b and a capacity of at least
// min(n, Window) bytes. If the result is not b, b is released. b may be nil.
func grow(b *[]byte, n int) *[]byte {
	if b != nil && n <= cap(*b) {
		return b
	}
	i := 0
	for bufferSizes[i] < min(n, Window) {
		i++
	}
	larger, ok := pools[i].Get().(*[]byte)
	if !ok {
		larger = new([]byte)
		*larger = make([]byte, 0, bufferSizes[i])
	}
	if b != nil {
		*larger = append(*larger, *b...)
		release(b)
	}
	return larger
}

// release puts b into its pool. The caller must not use b afterwards.
func release(b *[]byte) {
	*b = (*b)[:0]
	for i, size := range bufferSizes {
		if cap(*b) == size {
			pools[i].Put(b)
			return // another goroutine may use b now
		}
	}
}
