package testmain

import "runtime"

// Heap returns how many bytes of memory are in use. It collects garbage twice,
// because what a sync.Pool holds survives one collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
