package diskstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func count(dir, suffix string) (n int) {
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, suffix) {
			n++
		}
		return nil
	})
	return n
}

// A sweep removes the expired locks of owners that have died.
func TestLocksOfTheDeadAreSwept(t *testing.T) {
	dir := t.TempDir()
	s, _ := Open(dir)
	for i := range 20 {
		s.TryLock(context.Background(), fmt.Sprintf("https://h%d.example", i), time.Nanosecond)
	}
	time.Sleep(time.Millisecond)
	old := time.Now().Add(-2 * tempAge)
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error { os.Chtimes(p, old, old); return nil })
	s.sweep(false)
	if n := count(dir, lockSuffix); n != 0 {
		t.Errorf("%d expired locks are left, want none", n)
	}
}

// A process has died while it held a lock. Then the clock was set back by a
// month, or the file of the lock was replaced by 16 other bytes. TryLock and a
// sweep treat the lock as expired. Otherwise, each fetch of the robots.txt
// would wait for 41 s, until the month is over.
func TestLocksOfAnotherClock(t *testing.T) {
	s, _ := Open(t.TempDir())
	for _, mark := range []string{string(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(30*24*time.Hour).UnixNano()))) + "01234567", "sixteen letters!"} {
		for _, how := range []string{"TryLock", "sweep"} {
			if isNew, err := s.create(s.path("k", lockSuffix), []byte(mark)); err != nil || !isNew {
				t.Fatalf("create = %t, %v, want a new lock", isNew, err)
			}
			if how == "sweep" {
				s.sweep(false)
				if n := count(s.dir, lockSuffix); n != 0 {
					t.Errorf("%q: %d locks remain after a sweep, want none", mark, n)
				}
				continue
			}
			unlock, ok, err := s.TryLock(context.Background(), "k", time.Minute)
			if err != nil || !ok {
				t.Fatalf("%q: TryLock = %t, %v, want true", mark, ok, err)
			}
			if _, again, _ := s.TryLock(context.Background(), "k", 10*time.Second); again {
				t.Errorf("%q: TryLock returned true although the lock is held, want false", mark)
			}
			unlock()
		}
	}
}

// Soon after the last Put, the directory is not much larger than MaxBytes.
func TestBoundHolds(t *testing.T) {
	dir := t.TempDir()
	s, _ := Open(dir)
	s.MaxBytes = 10_000
	for i := range 200 {
		s.Put(context.Background(), fmt.Sprintf("https://h%d.example", i), make([]byte, 2000), time.Hour)
	}
	var total int64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		total = 0
		filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if i, err := d.Info(); err == nil {
					total += i.Size()
				}
			}
			return nil
		})
		if total <= 10_000*5/4 {
			return
		}
	}
	t.Errorf("the directory has %d bytes, want at most 12,500", total)
}

// Two processes sweep the directory at the same time: both have read it before
// either removes values. Together they remove no more than MaxBytes requires.
func TestTwoSweepsRemoveNoMoreThanOne(t *testing.T) {
	dir := t.TempDir()
	s, _ := Open(dir)
	for i := range 20 {
		file := make([]byte, 1000)
		binary.BigEndian.PutUint64(file, math.MaxInt64)
		if err := s.write(s.path(fmt.Sprint(i), valueSuffix), file); err != nil {
			t.Fatal(err)
		}
	}
	values1, total1 := s.removeExpired()
	values2, total2 := s.removeExpired()
	removeOldest(values1, total1, 15_000)
	removeOldest(values2, total2, 15_000)
	if n := count(dir, valueSuffix); n != 15 {
		t.Errorf("%d values are left, want 15", n)
	}
}

// A file that another sweep has removed counts as expired and removed, unlike a
// new file with the same name.
func TestAFileThatAnotherSweepHasRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+valueSuffix)
	v := valueFile{path, 1000, time.Now().Add(-time.Hour)}
	if !isExpiredFile(path, time.Now()) || !v.remove() {
		t.Error("isExpiredFile or remove returned false for a file that does not exist, want true")
	}
	file := binary.BigEndian.AppendUint64(nil, math.MaxInt64)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if isExpiredFile(path, time.Now()) || v.remove() {
		t.Error("isExpiredFile or remove returned true for a file that was written again, want false")
	}
}

// A process is repeatedly started, and killed while it writes a value. The
// temporary files that remain count toward MaxBytes, and are removed when they
// are a minute old.
func TestTemporaryFilesOfTheDead(t *testing.T) {
	dir := t.TempDir()
	s, _ := Open(dir)
	s.MaxBytes = 10_000
	for i := range 4 {
		if err := s.write(s.path(fmt.Sprint(i), valueSuffix), binary.BigEndian.AppendUint64(nil, math.MaxInt64)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		if _, err := s.writeTemp(filepath.Dir(s.path(fmt.Sprint(i), valueSuffix)), make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
	}
	s.sweep(false)
	if n := count(dir, valueSuffix); n != 0 {
		t.Errorf("%d values remain in addition to 15,000 bytes of temporary files, want none", n)
	}
	old := time.Now().Add(-2 * time.Minute)
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error { os.Chtimes(p, old, old); return nil })
	s.sweep(false)
	if n := count(dir, ""); n != 0 {
		t.Errorf("after the second sweep, the directory has %d files, want 0", n)
	}
}

// Put and TryLock create the directory again if it was removed. If the path of
// the directory is that of a file, Open returns an error.
func TestBadDirectories(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "d")
	s, _ := Open(dir)
	if err := s.Put(ctx, "k", []byte("v"), time.Hour); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	if err := s.Put(ctx, "k", []byte("v"), time.Hour); err != nil {
		t.Errorf("Put after the directory was removed: got error %v, want none", err)
	}
	os.RemoveAll(dir)
	if _, ok, err := s.TryLock(ctx, "k", time.Minute); err != nil || !ok {
		t.Errorf("TryLock after the directory was removed = %t, %v, want true", ok, err)
	}
	f := filepath.Join(t.TempDir(), "file")
	os.WriteFile(f, nil, 0o600)
	if _, err := Open(f); err == nil {
		t.Error("Open of a file returned no error, want one")
	}
}

// If the disk is full, Put leaves the old value unchanged. Here, a limit on the
// file size simulates a full disk.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("DISKSTORE_FULL_DIR"); dir != "" {
		s, _ := Open(dir)
		err := s.Put(context.Background(), "k", make([]byte, 1<<20), time.Hour)
		fmt.Println("put:", err)
		return
	}
	dir := t.TempDir()
	s, _ := Open(dir)
	s.Put(context.Background(), "k", []byte("old"), time.Hour)
	cmd := exec.Command(
		"sh",
		"-c",
		"trap '' XFSZ; ulimit -f 64; exec "+os.Args[0]+" -test.run=^TestFullDisk$",
	)
	cmd.Env = append(os.Environ(), "DISKSTORE_FULL_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "too large") {
		t.Errorf("the process that calls Put ended with error %v, want one, and output that contains \"too large\":\n%s", err, out)
	}
	v, err := s.Get(context.Background(), "k")
	if err != nil || string(v) != "old" {
		t.Errorf("Get = %d bytes, %v, want the old value %q", len(v), err, "old")
	}
	if n := count(dir, ""); n != 1 {
		t.Errorf("the directory has %d files, want 1", n)
	}
}

// Many goroutines acquire and release one lock. No two of them hold the lock at
// the same time, and no file is left.
func TestBrokenLocks(t *testing.T) {
	dir := t.TempDir()
	var twice atomic.Int64
	var held atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		s, _ := Open(dir)
		wg.Go(func() {
			for range 200 {
				unlock, ok, err := s.TryLock(context.Background(), "k", 20*time.Second)
				if err != nil {
					t.Error(err)
				}
				if !ok {
					continue
				}
				if held.Add(1) > 1 {
					twice.Add(1)
				}
				time.Sleep(time.Millisecond)
				held.Add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("held twice %d times", twice.Load())
	if twice.Load() > 0 {
		t.Errorf("two goroutines held the lock at the same time %d times, want never", twice.Load())
	}
	if n := count(dir, ""); n != 0 {
		t.Errorf("%d files are left, want none", n)
	}
}
