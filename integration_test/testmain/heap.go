package testmain

import "runtime"

// Heap returns the number of bytes of the heap that are in use. It collects
// garbage twice, because the contents of a sync.Pool survive one collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
