package htmlmeta

import "sync"

// The sizes of the buffers that hold a page's beginning. Pages of all sizes
// come and go; a pool spares each of them an allocation as large as itself.
var sizes = [...]int{32 << 10, 128 << 10, Window}

var pools [len(sizes)]sync.Pool // of *[]byte

// grown returns b with room for n bytes in all, no less than before. b goes
// back into its pool.
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

// release puts b, which nobody uses any more, into its pool.
func release(b *[]byte) {
	*b = (*b)[:0]
	for i, size := range sizes {
		if cap(*b) == size {
			pools[i].Put(b)
			return // from here on b is somebody else's
		}
	}
}
