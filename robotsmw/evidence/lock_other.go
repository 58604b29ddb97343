//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package evidence

import "os"

// lock does nothing, because this operating system may not have flock. A second
// process is not detected.
func lock(*os.File) error { return nil }

// unlock closes the file.
func unlock(f *os.File) error { return f.Close() }
