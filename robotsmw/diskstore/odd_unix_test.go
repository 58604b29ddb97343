//go:build unix

package diskstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If something else is in the place of a value or a lock, Get and TryLock treat
// the value or lock as missing. They neither wait for the odd file nor read
// much of it. A symbolic link to itself is an exception: Get and TryLock both
// return an error, which says what was tried.
func TestOddFilesAreMisses(t *testing.T) {
	tests := []struct {
		name string
		make func(name string) error
	}{
		{"a FIFO that nobody writes to", func(name string) error { return syscall.Mkfifo(name, 0o600) }},
		{"a directory", func(name string) error { return os.Mkdir(name, 0o700) }},
		{"a file of 1 GiB", func(name string) error {
			return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<30))
		}},
		{"a link to a device", func(name string) error { return os.Symlink(os.DevNull, name) }},
		{"a link to itself", func(name string) error { return os.Symlink(name, name) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			s, err := Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			value, lock := s.path("k", valueSuffix), s.path("k", lockSuffix)
			os.MkdirAll(filepath.Dir(value), 0o700)
			if err := errors.Join(tt.make(value), tt.make(lock)); err != nil {
				t.Fatal(err)
			}
			if v, err := s.Get(ctx, "k"); err == nil || len(v) > 0 {
				t.Errorf("Get: %d bytes, %v; want a miss", len(v), err)
			} else if !errors.Is(err, fs.ErrNotExist) && tt.name != "a link to itself" {
				t.Errorf("Get: %v; want a miss", err)
			}
			if unlock, ok, err := s.TryLock(ctx, "k", time.Minute); ok {
				unlock()
			} else if tt.name != "a link to itself" {
				t.Errorf("TryLock: not locked, %v", err)
			} else if !errors.Is(err, syscall.ELOOP) || !strings.Contains(err.Error(), `reading the lock of "k"`) {
				t.Errorf("TryLock: %v", err)
			}
			s.sweep(false)
			if err := ctx.Err(); err != nil {
				t.Errorf("it took too long: %v", err)
			}
		})
	}
}

func TestPutRefusesWhatGetWould(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "k", make([]byte, maxFile), time.Hour); err == nil {
		t.Error("Put of a value that Get would not read: no error")
	}
	if err := s.Put(t.Context(), "k", make([]byte, maxFile-headerSize-1), time.Hour); err != nil {
		t.Error(err)
	}
	if v, err := s.Get(t.Context(), "k"); err != nil || len(v) != maxFile-headerSize-1 {
		t.Errorf("Get: %d bytes, %v", len(v), err)
	}
}
