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

// limitDisk makes the disk of a Store full when the files in its directory have
// this many bytes. Of a file that does not fit, only a part is written.
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

// The disk is full, with less in the directory than MaxBytes. When the values
// have expired, they make room for new ones, also after a restart. Without
// that, no Put succeeds ever again, so no Put starts a sweep.
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
			t.Errorf("%d values did not fit", failed)
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
			t.Errorf("after the old values had expired, %d new ones were stored", stored)
		}
	})
}

// Values that live for long do not keep a full disk full: the oldest eighth of
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
			if err == nil { // the clock of the file system is another one
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
		if stored[0] < 35 || stored[0] > 50 || stored[1] < 3 || stored[1] > 8 || stored[2] < 3 || stored[2] > 8 {
			t.Errorf("%v values were stored in each minute", stored)
		}
		if _, err := s.Get(t.Context(), "0"); err == nil {
			t.Error("the oldest value is still there")
		}
	})
}

// On a full disk, neither Put nor TryLock leaves a temporary file. Each call
// for another origin left one.
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
			t.Errorf("TryLock: %v", err)
		}
		if err := s.Put(context.Background(), name, []byte("value"), time.Minute); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Put: %v", err)
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
		t.Errorf("%d files remain", files)
	}
}
