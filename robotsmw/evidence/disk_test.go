package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

type mapStore map[string][]byte

var storeMu sync.Mutex

func (s mapStore) Get(_ context.Context, key string) ([]byte, error) {
	storeMu.Lock()
	defer storeMu.Unlock()
	if v, ok := s[key]; ok {
		return v, nil
	}
	return nil, fs.ErrNotExist
}

func (s mapStore) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
	storeMu.Lock()
	defer storeMu.Unlock()
	s[key] = value
	return nil
}

func (s mapStore) Delete(_ context.Context, key string) error {
	storeMu.Lock()
	defer storeMu.Unlock()
	delete(s, key)
	return nil
}

// A fullDisk creates files on a disk that has room for fullDisk.left bytes. A
// write of more bytes fails with ENOSPC.
type fullDisk struct {
	left atomic.Int64
	slow atomic.Pointer[chan struct{}] // if not nil, each write waits until the channel is closed
}

func (d *fullDisk) create(path string) (file, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	return &fullFile{f, d}, nil
}

type fullFile struct {
	file
	disk *fullDisk
}

func (f *fullFile) Write(p []byte) (int, error) {
	if c := f.disk.slow.Load(); c != nil {
		<-*c
	}
	n := int64(len(p))
	if left := f.disk.left.Add(-n); left < 0 {
		f.disk.left.Add(-left) // now f.disk.left is 0
		n = max(n+left, 0)
		n, _ := f.file.Write(p[:n])
		return int(n), syscall.ENOSPC
	}
	return f.file.Write(p)
}

// quickly returns a web with one site, and a function that sets the Limiter of
// a crawler's options. With that Limiter, no request waits.
func quickly() (http.RoundTripper, func(*robotsmw.Options)) {
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private\n"})
	return &web, func(o *robotsmw.Options) { o.Limiter = &politeness.Limiter{Delay: -1, Concurrency: -1} }
}

// While the disk is full, lines are lost. When there is room again, a loss line
// contains their number and the span of time in which they were lost. The chain
// continues after that line.
func TestAFullDisk(t *testing.T) {
	for room := range 40 {
		dir := t.TempDir()
		var disk fullDisk
		disk.left.Store(2500 + int64(room)*613)
		rec, err := open(dir, Options{Logger: quiet()}, disk.create)
		if err != nil {
			t.Fatal(err)
		}
		web, opts := quickly()
		client := crawler(t, rec, web, opts)
		for i := range 30 {
			get(t, client, fmt.Sprint("http://a.example/", i))
		}
		rec.wait()
		full := time.Now()
		disk.left.Store(1 << 30)
		rec.writer.retryAt = time.Time{}
		for i := range 30 {
			get(t, client, fmt.Sprint("http://a.example/again/", i))
		}
		if err := rec.Close(); err == nil {
			t.Fatal("Close returns no error, want one, because lines were lost")
		}
		lines := mustRead2(t, dir)
		lost := 0
		for _, l := range of(lines, "loss") {
			from, err := time.Parse(time.RFC3339Nano, l.From)
			if err != nil || from.After(full) || l.To.Before(from) || l.Cause == "" {
				t.Errorf("the loss line %+v has invalid times or no cause, want a From no later than the full disk, a To no earlier than From, and a Cause", l)
			}
			lost += l.Lost["request"]
		}
		if n := len(of(lines, "request")); n+lost != 61 || lost == 0 || n < 30 {
			t.Errorf("%d requests are recorded and %d are lost, want a sum of 61, at least 30 recorded and some lost", n, lost)
		}
	}
}

// mustRead2 is like mustRead, but for a record that may have lost robots.txt
// files.
func mustRead2(t *testing.T, dir string) []recordLine {
	t.Helper()
	lines, tail, err := readAll(dir, false)
	if err != nil || tail > 0 {
		t.Fatalf("reading the record: error %v, and %d bytes after the last valid line, want none", err, tail)
	}
	return lines
}

// No request waits for a disk that hangs. Lines for which the queue has no room
// are lost, and a loss line counts them.
func TestASlowDisk(t *testing.T) {
	dir := t.TempDir()
	var disk fullDisk
	disk.left.Store(1 << 40)
	rec, err := open(dir, Options{Logger: quiet()}, disk.create)
	if err != nil {
		t.Fatal(err)
	}
	rec.queue.maxSize = 20_000
	web, opts := quickly()
	client := crawler(t, rec, web, opts)
	hang := make(chan struct{})
	disk.slow.Store(&hang)
	for i := range 200 { // each request ends, although the writer cannot write
		get(t, client, fmt.Sprint("http://a.example/", i))
	}
	disk.slow.Store(nil)
	close(hang)
	if err := rec.Close(); err == nil {
		t.Error("Close returns no error, want one, because lines were lost")
	}
	lines := mustRead2(t, dir)
	lost := 0
	for _, l := range of(lines, "loss") {
		lost += l.Lost["request"]
	}
	if n := len(of(lines, "request")); n+lost != 201 || lost < 100 {
		t.Errorf("%d requests are recorded and %d are lost, want a sum of 201, and at least 100 lost", n, lost)
	}
}

// If the disk has no room for the first line, Open returns an error. Only the
// lock file is left.
func TestADiskThatIsFullFromTheStart(t *testing.T) {
	dir := t.TempDir()
	if _, err := open(dir, Options{Logger: quiet()}, new(fullDisk).create); err == nil {
		t.Fatal("Open returns no error, want one, because the disk is full")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "lock" {
		t.Errorf("the directory contains %v (error %v), want only the file lock", left, err)
	}
	rec := mustOpen(t, dir, Options{})
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
	mustRead(t, dir)
}

// A record stays within MaxBytes: the Recorder begins new segments and deletes
// the oldest ones. Each segment has the robot and limiter lines.
func TestARecordIsRotatedAndBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rec := mustOpen(t, dir, Options{MaxBytes: 200_000, SegmentBytes: 20_000})
	web, opts := quickly()
	client := crawler(t, rec, web, opts)
	most := int64(0)
	for i := range 400 {
		get(t, client, fmt.Sprint("http://a.example/", i))
		rec.wait()
		most = max(most, size(t, dir))
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if most > 200_000 || most < 100_000 {
		t.Errorf("the record had at most %d bytes, want 100,000 to 200,000", most)
	}
	all, err := chain.Segments(os.DirFS(dir))
	if err != nil || len(all) < 3 || all[0] == 1 {
		t.Fatalf("the segments are %v (error %v), want at least 3 without the first one", all, err)
	}
	var end chain.Link
	for i, n := range all {
		text, err := os.ReadFile(filepath.Join(dir, chain.LinesName(n)))
		if err != nil {
			t.Fatal(err)
		}
		next, good, err := chain.Scan(bytes.NewReader(text))
		if err != nil || good != int64(len(text)) {
			t.Fatalf("segment %d: %d of %d bytes are valid (error %v), want all", n, good, len(text), err)
		}
		var events []string
		for line := range lines(text) {
			prev, at, ok := chain.Check(line)
			if !ok || i > 0 && prev != end {
				t.Fatalf("segment %d does not continue the chain of the previous one, want an unbroken chain", n)
			}
			end = at
			if len(events) < 3 {
				events = append(events, eventOf(line))
			}
		}
		if end != next || fmt.Sprint(events) != "[segment robot limiter]" {
			t.Errorf("segment %d begins with the lines %v, want [segment robot limiter]", n, events)
		}
	}
}

// The test kills twenty crawling processes: the first one as soon as it has
// created its segment, and each other process when it has written at least
// three lines more than the previous process had to. Each time, the chain must
// be valid up to the incomplete line, and the next process must continue the
// chain.
func TestAKilledProcessLeavesAGoodRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := 0
	for i := range 20 {
		minLines := 3 * i
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "EVIDENCE_CRAWL="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			all, _ := chain.Segments(os.DirFS(dir))
			if len(all) > i {
				text, _ := os.ReadFile(filepath.Join(dir, chain.LinesName(all[i])))
				if bytes.Count(text, []byte("\n")) >= minLines {
					break
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("the process has not written %d lines within a minute, want more", minLines)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var killed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &killed) {
			t.Fatalf("the process ended by itself with %v, want it to be killed", err)
		}
		lines, tail, err := readRecord(dir)
		if err != nil {
			t.Fatalf("after %d processes, reading the record returns the error %v, want none", i+1, err)
		}
		if want := seen + minLines; len(lines) < want {
			t.Fatalf("after %d processes, the record has %d lines, want at least %d", i+1, len(lines), want)
		}
		seen = len(lines)
		t.Logf("the record has %d lines, and %d bytes of an incomplete line", seen, tail)
	}
	rec := mustOpen(t, dir, Options{})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	lines := mustRead(t, dir)
	sessions := 0
	for _, l := range of(lines, "segment") {
		if l.Why == "open" {
			sessions++
		}
	}
	// The first process may have no session, because it may be killed before it
	// has written its first line. Of the lines of a process, fewer than ten
	// precede its second request, and then every other line is a request.
	if n := len(of(lines, "request")); sessions < 20 || n < 200 {
		t.Errorf("there are %d sessions with %d requests, want at least 20 and 200", sessions, n)
	}
}

// crawlUntilKilled runs in the processes that
// TestAKilledProcessLeavesAGoodRecord kills. It never returns.
func crawlUntilKilled(dir string) {
	rec, err := Open(dir, Options{SegmentBytes: 1 << 30})
	if err != nil {
		panic(err)
	}
	web, edit := quickly()
	opts := robotsmw.Options{UserAgent: agent, Base: web, Logger: quiet()}
	edit(&opts)
	if err := rec.Observe(&opts); err != nil {
		panic(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		if resp, err := client.Get(fmt.Sprint("http://a.example/", i)); err == nil {
			resp.Body.Close()
		}
	}
}

// After a power loss, a segment may lack its end, or have zeros in it. The next
// session records where the valid part ends, and continues the chain from the
// last valid line.
func TestACutIsSaidAndSkipped(t *testing.T) {
	tests := []struct {
		name string
		edit func(text []byte) []byte
	}{
		{"half a line", func(text []byte) []byte { return text[:len(text)-100] }},
		{"no newline", func(text []byte) []byte { return text[:len(text)-1] }},
		{"nothing", func([]byte) []byte { return nil }},
		{"not even the first line", func(text []byte) []byte { return text[:50] }},
		{
			name: "zeros at the end",
			edit: func(text []byte) []byte { return append(text, make([]byte, 4096)...) },
		},
		{
			name: "zeros in between",
			edit: func(text []byte) []byte { clear(text[len(text)/2:][:200]); return text },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			web, opts := quickly()
			for range 2 {
				rec := mustOpen(t, dir, Options{})
				get(t, crawler(t, rec, web, opts), "http://a.example/page")
				if err := rec.Close(); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, chain.LinesName(2))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tt.edit(text), 0o600); err != nil {
				t.Fatal(err)
			}
			rec := mustOpen(t, dir, Options{})
			get(t, crawler(t, rec, web, opts), "http://a.example/page")
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			if lines := mustRead(t, dir); lines[len(lines)-1].Event != "close" {
				t.Errorf("the record ends with %+v, want the event close", lines[len(lines)-1])
			}
		})
	}
}

// The next process may be killed after it has created its segment, but before
// it has written a line.
func TestACutBeforeAnEmptySegmentIsSaid(t *testing.T) {
	dir := t.TempDir()
	web, opts := quickly()
	for n := range 2 {
		rec := mustOpen(t, dir, Options{})
		get(t, crawler(t, rec, web, opts), "http://a.example/page")
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			break
		}
		path := filepath.Join(dir, chain.LinesName(1))
		if err := os.Truncate(path, size(t, dir)/2); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, chain.LinesName(2)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if lines := mustRead(t, dir); lines[len(lines)-1].Event != "close" {
		t.Errorf("the record ends with %+v, want the event close", lines[len(lines)-1])
	}
}

func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

func (r *Recorder) wait() {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	for r.queue.running {
		r.queue.idle.Wait()
	}
}
