package match

import (
	"sync"
	"unsafe"
)

// AsString returns b as a string without copying it. b must not change while
// the string is in use.
func AsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stackBuffer is the size in bytes of a buffer on the stack. It is enough for
// nearly all targets in canonical form. Longer targets and patterns use a
// buffer from a pool.
const stackBuffer = 512

var buffers = sync.Pool{New: func() any { return new([]byte) }}
