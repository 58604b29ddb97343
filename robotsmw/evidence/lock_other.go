//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package evidence

import "os"

// lock does nothing, because this operating system may have no flock. So a
// second process can write too.
func lock(*os.File) error { return nil }

// unlock closes the file.
func unlock(f *os.File) error { return f.Close() }
