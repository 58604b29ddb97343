//go:build !amd64 || purego

package htmlmeta

// skipM returns how many bytes at the beginning of b can be passed over,
// because no "<m" in either case begins in them. It may stop early.
func skipM(b []byte) int { return skipWords(b) }
