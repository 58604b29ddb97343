// Package diskstore keeps robots.txt records in a directory, so that a crawl
// that is restarted does not fetch files again that are still fresh:
//
//	store, err := diskstore.Open(filepath.Join(cacheDir, "robots"))
//	...
//	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: agent, Store: store})
//
// Any number of processes on one machine may share the directory. Each value is
// written to a temporary file, which is then renamed, so that readers get only
// complete values. If a process is killed while it writes a value, the
// temporary file is removed later. The size of the directory is limited: see
// Store.MaxBytes.
package diskstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A Store is a robotsmw.Store and a robotsmw.Locker in a directory. It must be
// created with Open, and is safe for concurrent use.
type Store struct {
	// MaxBytes limits the size of the directory. After the first Put, and
	// whenever an eighth of the limit has been written, expired values are
	// removed. If the directory is still too large, the oldest values are
	// removed too. 0 means 1 GiB, and a negative value means no limit. MaxBytes
	// must not be changed after the first use.
	//
	// If the disk is full before the directory has this size, Put returns an
	// error, and expired values and the oldest eighth of the others are
	// removed, at most once a minute.
	MaxBytes int64

	dir      string
	written  atomic.Int64 // bytes written since the last sweep
	started  atomic.Bool  // Put was called
	sweeping atomic.Bool
	madeRoom atomic.Int64 // when makeRoom began a sweep, in Unix nanoseconds; 0 means never

	writeTo func(*os.File, []byte) (int, error) // (*os.File).Write, except in tests
}

const (
	defaultMaxBytes = 1 << 30
	valueSuffix     = ".robots"
	lockSuffix      = ".lock"
	tempPrefix      = "tmp-"

	// tempAge is the age at which a sweep removes a temporary file, because the
	// process that was writing it has probably died. If the process was only
	// suspended, its Put returns an error.
	tempAge = time.Minute
)

// Open returns the Store in the directory dir. If dir does not exist, Open
// creates it, and only its owner can read it.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("diskstore: the name of the directory is empty: " +
			"pass a path below os.UserCacheDir(), for example")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("diskstore: cannot make the path absolute: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("diskstore: cannot create the directory: %w", err)
	}
	return &Store{dir: dir, writeTo: (*os.File).Write}, nil
}

// The file of a value begins with its expiry time (Unix nanoseconds, 8 bytes,
// big-endian), the length of its key (2 bytes), and the CRC-32C of all other
// bytes of the file (4 bytes). The key and the value follow.
const headerSize = 8 + 2 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of a value's file. data has at least headerSize
// bytes.
func checksum(data []byte) uint32 {
	return crc32.Update(crc32.Checksum(data[:headerSize-4], castagnoli), castagnoli, data[headerSize:])
}

// Get returns the value of the key. If the value is missing or has expired, or
// if its file is damaged or was not written by a Store, the error wraps
// fs.ErrNotExist.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := readFile(s.path(key, valueSuffix), maxFile)
	if err != nil {
		return nil, fmt.Errorf("diskstore: reading the value of %q: %w", key, err)
	}
	if len(data) < headerSize {
		return nil, fmt.Errorf("diskstore: the file of %q is cut short: %w", key, fs.ErrNotExist)
	}
	if binary.BigEndian.Uint32(data[headerSize-4:]) != checksum(data) {
		return nil, fmt.Errorf("diskstore: the file of %q is damaged or was not written by a Store: %w",
			key, fs.ErrNotExist)
	}
	expires := time.Unix(0, int64(binary.BigEndian.Uint64(data)))
	n := int(binary.BigEndian.Uint16(data[8:]))
	data = data[headerSize:]
	if len(data) < n || string(data[:n]) != key {
		return nil, fmt.Errorf("diskstore: the file of %q contains the value of another key: %w",
			key, fs.ErrNotExist)
	}
	if !time.Now().Before(expires) {
		return nil, fmt.Errorf("diskstore: the value of %q has expired: %w", key, fs.ErrNotExist)
	}
	return data[n:], nil
}

// Put writes the value, which expires after ttl. Put returns an error for a key
// of more than 65,535 bytes, and for a value whose file would have more than 16
// MiB.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(key) > 1<<16-1 {
		return fmt.Errorf("diskstore: the key has %d bytes: the maximum is 65,535", len(key))
	}
	if headerSize+len(key)+len(value) > maxFile {
		return fmt.Errorf("diskstore: the value of %q has %d bytes: the maximum size of a file is 16 MiB",
			key, len(value))
	}
	file := make([]byte, headerSize, headerSize+len(key)+len(value))
	binary.BigEndian.PutUint64(file, uint64(time.Now().Add(ttl).UnixNano()))
	binary.BigEndian.PutUint16(file[8:], uint16(len(key)))
	file = append(file, key...)
	file = append(file, value...)
	binary.BigEndian.PutUint32(file[headerSize-4:], checksum(file))
	if err := s.write(s.path(key, valueSuffix), file); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			s.makeRoom()
		}
		return fmt.Errorf("diskstore: writing the value of %q: %w", key, err)
	}
	if s.written.Add(int64(len(file))) > s.limit()/8 || s.started.CompareAndSwap(false, true) {
		s.sweepInBackground()
	}
	return nil
}

// limit returns MaxBytes, or its default if MaxBytes is 0. If there is no
// limit, it returns math.MaxInt64.
func (s *Store) limit() int64 {
	if s.MaxBytes == 0 {
		return defaultMaxBytes
	}
	if s.MaxBytes < 0 {
		return math.MaxInt64
	}
	return s.MaxBytes
}

// sweepInBackground sweeps the directory in a goroutine, unless a sweep is
// already running.
func (s *Store) sweepInBackground() {
	if !s.sweeping.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.sweeping.Store(false)
		for {
			s.written.Store(0)
			s.sweep(false)
			if s.written.Load() <= s.limit()/8 {
				return
			}
		}
	}()
}

// roomInterval is the minimum time between two sweeps because of a full
// disk.
const roomInterval = time.Minute

// makeRoom sweeps the directory in the background after a write has failed
// because the disk is full. Otherwise, expired values would remain, because Put
// starts other sweeps only after a value was written.
func (s *Store) makeRoom() {
	last, now := s.madeRoom.Load(), time.Now().UnixNano()
	isRecent := last <= now && now-last < int64(roomInterval)
	if isRecent || !s.sweeping.CompareAndSwap(false, true) {
		return
	}
	s.madeRoom.Store(now)
	go func() {
		defer s.sweeping.Store(false)
		s.sweep(true)
	}()
}

// write replaces the content of a file by data, in one step. It does not sync
// the disk. Therefore, a value may be missing or damaged after a power cut. Get
// returns an error for both.
func (s *Store) write(name string, data []byte) error {
	temp, err := s.writeTemp(filepath.Dir(name), data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

// writeTemp writes a new temporary file in dir, which it creates if necessary,
// and returns the file's path. If it returns an error, it leaves no file.
func (s *Store) writeTemp(dir string, data []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return "", err
	}
	_, err = s.writeTo(f, data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Delete removes the key's value. If there is no value, Delete returns nil.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(s.path(key, valueSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("diskstore: deleting the value of %q: %w", key, err)
	}
	return nil
}

// TryLock locks the key against all other users of the directory, including
// other processes. The lock is a file. Its content is called the mark of the
// lock: the time at which the lock expires, and a random number that identifies
// the owner. ok is false if another caller holds the lock.
func (s *Store) TryLock(
	ctx context.Context, key string, ttl time.Duration,
) (unlock func(), ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	name := s.path(key, lockSuffix)
	mark := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(ttl).UnixNano()))
	mark = binary.BigEndian.AppendUint64(mark, rand.Uint64())
	for range 2 {
		isNew, err := s.create(name, mark)
		if err != nil {
			return nil, false, fmt.Errorf("diskstore: locking %q: %w", key, err)
		}
		if isNew {
			return func() { s.unlock(name, mark) }, true, nil
		}
		if free, err := s.breakLock(name, ttl); err != nil {
			return nil, false, fmt.Errorf("diskstore: reading the lock of %q: %w", key, err)
		} else if !free {
			return nil, false, nil
		}
	}
	return nil, false, nil
}

// create creates a lock file with its content, atomically. isNew is false if
// the file exists. It uses a hard link, because a rename would replace an
// existing file.
//
// Only the error of os.Link shows that the file exists. If the directory is a
// dangling symbolic link, os.MkdirAll returns an error that is fs.ErrExist too.
func (s *Store) create(name string, mark []byte) (isNew bool, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return false, err
	}
	temp, err := s.writeTemp(s.dir, mark)
	if err != nil {
		return false, err
	}
	defer os.Remove(temp)
	err = os.Link(temp, name)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// breakLock removes a lock that has expired. It reports whether the key may be
// free now. A lock that this user may not read counts as held. If the lock
// cannot be read for another reason, breakLock returns the error. For the
// meaning of ttl, see hasExpired.
func (s *Store) breakLock(name string, ttl time.Duration) (free bool, err error) {
	mark, err := readFile(name, maxMark)
	switch {
	case err == nil:
		return hasExpired(mark, ttl) && s.take(name, mark), nil
	case errors.Is(err, errNotOurs): // a directory, for example
		return s.take(name, nil), nil
	case isSymlink(name): // a dangling link, because of which os.Link fails
		return s.take(name, nil), nil
	case errors.Is(err, fs.ErrNotExist): // the owner has just released the lock
		return true, nil
	case errors.Is(err, fs.ErrPermission):
		return false, nil
	}
	return false, err
}

func isSymlink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func (s *Store) unlock(name string, mark []byte) {
	if held, err := readFile(name, maxMark); err == nil && bytes.Equal(held, mark) {
		s.take(name, mark)
	}
}

// take removes the lock file if it still contains the mark, and reports whether
// the file no longer exists. It first renames the file to a unique name, so
// that only one of several callers succeeds. If the file turns out to be the
// new lock of another owner, take restores it. If a third process takes the
// lock before the file is restored, two processes hold the lock, and a
// robots.txt may be fetched twice.
func (s *Store) take(name string, mark []byte) bool {
	aside := filepath.Join(s.dir, fmt.Sprintf("%s%016x", tempPrefix, rand.Uint64()))
	if err := os.Rename(name, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer os.Remove(aside)
	if held, err := readFile(aside, maxMark); err == nil && !bytes.Equal(held, mark) {
		os.Link(aside, name)
		return false
	}
	return true
}

// hasExpired reports whether the lock with this mark has expired. A mark that
// is too short counts as expired. ttl is how long the caller's own lock lasts.
// A lock that would last for more than a minute longer counts as expired too,
// because the clock has been set back since, or the file is not a lock.
func hasExpired(mark []byte, ttl time.Duration) bool {
	if len(mark) < 8 {
		return true
	}
	left := time.Until(time.Unix(0, int64(binary.BigEndian.Uint64(mark))))
	return left <= 0 || left-ttl > time.Minute
}

// maxLock is the longest duration of a lock that a sweep accepts as valid: see
// hasExpired. The locks of a Checker last for ten seconds longer than its
// RobotsTimeout.
const maxLock = 24 * time.Hour

// path returns the path of the key's file with this suffix. The names of the
// subdirectory and of the file are derived from the key's hash.
func (s *Store) path(key, suffix string) string {
	h := sha256.Sum256([]byte(key))
	name := fmt.Sprintf("%x", h[:20])
	return filepath.Join(s.dir, name[:2], name[2:]+suffix)
}

// sweep removes expired values, expired locks and old temporary files. If the
// remaining values exceed the limit, it removes the oldest ones. If the disk is
// full, it removes at least an eighth of the remaining values.
//
// Several processes may sweep the directory at the same time.
func (s *Store) sweep(diskFull bool) {
	values, total := s.removeExpired()
	limit := s.limit()
	if diskFull {
		limit = min(limit, total/8*7)
	}
	removeOldest(values, total, limit)
}

// removeExpired removes expired values, expired locks and old temporary files.
// It returns the remaining values, and the total size of these and of the
// remaining temporary files.
func (s *Store) removeExpired() (values []valueFile, total int64) {
	now := time.Now()
	// Unlike filepath.WalkDir, fs.WalkDir also works if s.dir is a symbolic
	// link.
	fs.WalkDir(os.DirFS(s.dir), ".", func(name string, d fs.DirEntry, err error) error {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err != nil || d.IsDir() {
			return nil // if the path cannot be read now, the next sweep tries again
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		switch {
		case strings.HasPrefix(d.Name(), tempPrefix):
			isAbandoned := now.Sub(info.ModTime()) > tempAge
			if !isAbandoned || os.Remove(path) != nil {
				total += info.Size()
			}
		case strings.HasSuffix(d.Name(), lockSuffix): // if a lock has expired, its owner has died
			s.breakLock(path, maxLock)
		case strings.HasSuffix(d.Name(), valueSuffix):
			v := valueFile{path, info.Size(), info.ModTime()}
			if isExpiredFile(path, now) && v.remove() {
				return nil
			}
			values = append(values, v)
			total += v.size
		}
		return nil
	})
	return values, total
}

// removeOldest removes the oldest values until the total size is no larger than
// the limit.
func removeOldest(values []valueFile, total, limit int64) {
	if total <= limit {
		return
	}
	slices.SortFunc(values, func(a, b valueFile) int { return a.written.Compare(b.written) })
	for _, v := range values {
		if total <= limit {
			return
		}
		if v.remove() {
			total -= v.size
		}
	}
}

// A valueFile is the file of a value that a sweep has found.
type valueFile struct {
	path    string
	size    int64
	written time.Time
}

// remove removes the file unless it was written after the sweep had found it.
// It reports whether the file no longer exists. If another sweep has removed
// the file, remove returns true, because otherwise the sweep would remove a
// newer value instead.
func (v valueFile) remove() bool {
	info, err := os.Lstat(v.path)
	if err == nil {
		if !info.ModTime().Equal(v.written) {
			return false
		}
		err = os.Remove(v.path)
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// isExpiredFile reports whether the value in a file has expired. A file that is
// too short to contain the expiry time, or that another sweep has removed,
// counts as expired.
func isExpiredFile(path string, now time.Time) bool {
	f, err := openFile(path, maxFile)
	if err != nil {
		_, err := os.Lstat(path) // unlike os.Open, it finds a dangling link
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return true
	}
	return !now.Before(time.Unix(0, int64(binary.BigEndian.Uint64(b[:]))))
}

// maxFile limits the file of a value, and maxMark the file of a lock, in bytes.
// The Store writes no larger files: Put returns an error for larger values, and
// a mark has 16 bytes.
const (
	maxFile = 16 << 20
	maxMark = 16
)

// errNotOurs means that the Store has not written a file. The file is treated
// as if it did not exist.
var errNotOurs = fmt.Errorf("not a file of the Store: %w", fs.ErrNotExist)

// readFile returns the content of a file. If the file is not regular or is
// larger than limit, the error wraps errNotOurs.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := openFile(name, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has grown beyond %d bytes: %w", name, limit, errNotOurs)
	}
	return data, err
}

// openFile opens a file. If the file is not regular or is larger than limit,
// the error wraps errNotOurs.
func openFile(name string, limit int64) (*os.File, error) {
	// Without O_NONBLOCK, opening a FIFO without a writer would block.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := checkFile(f, limit); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkFile returns an error that wraps errNotOurs if f is not a regular file
// or is larger than limit.
func checkFile(f *os.File, limit int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: %w", f.Name(), errNotOurs)
	}
	if info.Size() > limit {
		return fmt.Errorf("%s has %d bytes, more than %d: %w",
			f.Name(), info.Size(), limit, errNotOurs)
	}
	return nil
}
