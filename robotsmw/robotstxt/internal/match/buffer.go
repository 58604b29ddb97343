package match

import (
	"sync"
	"unsafe"
)

// AsString returns b as a string without copying it. The caller must not modify
// b while the string is in use.
func AsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// stackSize is the size in bytes of a buffer on the stack, which is sufficient
// for nearly all normalized targets. For longer targets and patterns, a buffer
// from the pool is used.
const stackSize = 512

var buffers = sync.Pool{New: func() any { return new([]byte) }}
