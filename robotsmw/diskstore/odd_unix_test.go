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

// If the file of a value or a lock is not a regular file, or is too large, Get
// and TryLock treat the value or lock as missing. They neither wait for the
// file nor read much of it. For a symbolic link to itself, Get returns an error
// other than fs.ErrNotExist.
func TestOddFilesAreMisses(t *testing.T) {
	tests := []struct {
		name string
		make func(name string) error
	}{
		{
			name: "a FIFO without a writer",
			make: func(name string) error { return syscall.Mkfifo(name, 0o600) },
		},
		{"a directory", func(name string) error { return os.Mkdir(name, 0o700) }},
		{"a file of 1 GiB", func(name string) error {
			return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<30))
		}},
		{"a link to a device", func(name string) error { return os.Symlink(os.DevNull, name) }},
		{"a link to itself", func(name string) error { return os.Symlink(name, name) }},
		{
			name: "a dangling link",
			make: func(name string) error { return os.Symlink(name+"-that-is-not-there", name) },
		},
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
				t.Errorf("Get returned %d bytes and error %v, want only an error", len(v), err)
			} else if !errors.Is(err, fs.ErrNotExist) && tt.name != "a link to itself" {
				t.Errorf("Get: got error %v, want fs.ErrNotExist", err)
			}
			if unlock, ok, err := s.TryLock(ctx, "k", time.Minute); ok {
				unlock()
			} else {
				t.Errorf("TryLock = false, %v, want true", err)
			}
			s.sweep(false)
			if err := ctx.Err(); err != nil {
				t.Errorf("the calls took longer than ten seconds (%v), want less", err)
			}
		})
	}
}

// The directory, or a directory in it, is a dangling symbolic link, because a
// volume is no longer mounted. Put and TryLock return errors. If TryLock
// reported that another process holds the lock, each fetch of a robots.txt
// would wait for 41 s.
func TestDanglingDirectories(t *testing.T) {
	for _, of := range []string{"the store", "the key"} {
		s, err := Open(filepath.Join(t.TempDir(), "robots"))
		if err != nil {
			t.Fatal(err)
		}
		dir := s.dir
		if of == "the key" {
			dir = filepath.Dir(s.path("k", lockSuffix))
		}
		os.RemoveAll(dir)
		if err := os.Symlink(dir+"-that-is-not-there", dir); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := s.TryLock(t.Context(), "k", time.Minute); ok || err == nil || !strings.Contains(err.Error(), `locking "k"`) {
			t.Errorf("the directory of %s: TryLock = %t, %v, want an error", of, ok, err)
		}
		if err := s.Put(t.Context(), "k", nil, time.Minute); err == nil {
			t.Errorf("the directory of %s: Put returned no error, want one", of)
		}
		if _, err := s.Get(t.Context(), "k"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory of %s: Get: got error %v, want fs.ErrNotExist", of, err)
		}
		s.sweep(false)
	}
}

func TestPutRefusesWhatGetWould(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "k", make([]byte, maxFile), time.Hour); err == nil {
		t.Error("Put of a value that Get would not read returned no error, want one")
	}
	if err := s.Put(t.Context(), "k", make([]byte, maxFile-headerSize-1), time.Hour); err != nil {
		t.Errorf("Put of the largest value returned error %v, want none", err)
	}
	if v, err := s.Get(t.Context(), "k"); err != nil || len(v) != maxFile-headerSize-1 {
		t.Errorf("Get returned %d bytes and error %v, want the whole value", len(v), err)
	}
}
