package htmlmeta

import "sync"

// sizes are the sizes of the buffers that hold a page's beginning. The buffers
// are pooled by size, so most pages need no new one.
var sizes = [...]int{32 << 10, 128 << 10, Window}

var pools [len(sizes)]sync.Pool // the elements are *[]byte

// grown returns a buffer with the content of b and room for n bytes, including
// this content. If n is larger than Window, there is room for Window bytes. If
// the result is not b itself, b goes back into its pool.
func grown(b *[]byte, n int) *[]byte {
	if b != nil && n <= cap(*b) {
		return b
	}
	i := 0
	for sizes[i] < min(n, Window) {
		i++
	}
	larger, ok := pools[i].Get().(*[]byte)
	if !ok {
		larger = new([]byte)
		*larger = make([]byte, 0, sizes[i])
	}
	if b != nil {
		*larger = append(*larger, *b...)
		release(b)
	}
	return larger
}

// release puts b into its pool. The caller must not use b any more.
func release(b *[]byte) {
	*b = (*b)[:0]
	for i, size := range sizes {
		if cap(*b) == size {
			pools[i].Put(b)
			return // from now on, b may belong to another goroutine
		}
	}
}
