package diskstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// limitDisk makes the writes of a Store fail when the files in its directory
// would have more than this many bytes. The part of a file that fits is
// written.
func limitDisk(t *testing.T, s *Store, dir string, bytes int64) {
	s.writeTo = func(f *os.File, data []byte) (int, error) {
		free := bytes - size(t, dir)
		if int64(len(data)) <= free {
			return f.Write(data)
		}
		n, _ := f.Write(data[:max(free, 0)])
		return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
}

func size(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a sweep has removed the file meanwhile
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return bytes
}

// The disk is full, although the directory is smaller than MaxBytes. Values
// that have expired are removed to make room for new ones, also after a
// restart. Otherwise, no Put would succeed again, and none would start a sweep.
func TestFullDisk_ExpiredValuesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		value := make([]byte, 1000)
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		limitDisk(t, s, dir, 20_000)
		failed := 0
		for i := range 40 {
			err := s.Put(t.Context(), fmt.Sprintf("old%d", i), value, time.Hour)
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			if err != nil {
				failed++
			}
		}
		synctest.Wait()
		if failed < 10 {
			t.Errorf("%d calls of Put failed, want at least 10", failed)
		}
		time.Sleep(2 * time.Hour)

		if s, err = Open(dir); err != nil {
			t.Fatal(err)
		}
		limitDisk(t, s, dir, 20_000)
		stored := 0
		for i := range 40 {
			if s.Put(t.Context(), fmt.Sprintf("new%d", i), value, time.Hour) == nil {
				stored++
			}
			synctest.Wait()
		}
		if stored < 15 {
			t.Errorf("after the old values had expired, %d new ones were stored, want at least 15", stored)
		}
	})
}

// If the disk is full of values that have not expired, the oldest eighth of
// them is removed, but only once a minute.
func TestFullDisk_TheOldestValuesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		limitDisk(t, s, dir, 40_000)
		put := func(i int) error {
			name := fmt.Sprint(i)
			err := s.Put(t.Context(), name, make([]byte, 1000), 24*time.Hour)
			synctest.Wait()
			if err == nil { // the file system does not use the fake clock
				os.Chtimes(s.path(name, valueSuffix), time.Now(), time.Now())
			}
			time.Sleep(time.Millisecond)
			return err
		}
		var stored []int // in each minute
		for minute := range 3 {
			n := 0
			for i := range 200 {
				if put(200*minute+i) == nil {
					n++
				}
			}
			stored = append(stored, n)
			time.Sleep(time.Minute)
		}
		isEighth := func(n int) bool { return 3 <= n && n <= 8 }
		isFull := 35 <= stored[0] && stored[0] <= 50
		if !isFull || !isEighth(stored[1]) || !isEighth(stored[2]) {
			t.Errorf("%v values were stored in the three minutes, want about 40, 5 and 5", stored)
		}
		if _, err := s.Get(t.Context(), "0"); err == nil {
			t.Error("the oldest value was not removed, want it removed")
		}
	})
}

// On a full disk, neither Put nor TryLock leaves a temporary file. Otherwise,
// there would be one for each call.
func TestFullDisk_NoTemporaryFilesRemain(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	limitDisk(t, s, dir, 10)
	for i := range 20 {
		name := fmt.Sprint(i)
		if _, _, err := s.TryLock(context.Background(), name, time.Minute); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("TryLock: got error %v, want ENOSPC", err)
		}
		if err := s.Put(context.Background(), name, []byte("value"), time.Minute); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Put: got error %v, want ENOSPC", err)
		}
	}
	files := 0
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return nil
	})
	if files != 0 {
		t.Errorf("%d files remain, want none", files)
	}
}
