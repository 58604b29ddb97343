package diskstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/storetest"
)

var (
	_ robotsmw.Store  = (*diskstore.Store)(nil)
	_ robotsmw.Locker = (*diskstore.Store)(nil)
)

func open(t testing.TB, dir string) *diskstore.Store {
	t.Helper()
	s, err := diskstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) robotsmw.Store { return open(t, t.TempDir()) })
}

func TestOpen(t *testing.T) {
	if _, err := diskstore.Open(""); err == nil {
		t.Error("Open with an empty name returned no error, want one")
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := diskstore.Open(file); err == nil {
		t.Error("Open of a file returned no error, want one")
	}
	nested := filepath.Join(t.TempDir(), "a", "b")
	open(t, nested)
	if info, err := os.Stat(nested); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("Stat = %v, %v, want a directory that only its owner can access", info, err)
	}
}

// A crawl that is restarted with the same directory fetches no robots.txt that
// is still fresh.
func TestWarmStartFetchesNothing(t *testing.T) {
	dir := t.TempDir()
	var web robotstest.Internet
	const hosts = 50
	for i := range hosts {
		web.Handle(fmt.Sprintf("h%d.example", i), robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n", "/": "page"})
	}
	crawl := func() {
		tr, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &web, Store: open(
			t,
			dir,
		)})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: tr}
		for i := range hosts {
			if _, err := client.Get(fmt.Sprintf("http://h%d.example/private/", i)); !errors.Is(err, robotsmw.ErrDisallowed) {
				t.Fatalf("Get of a page of host %d: error %v, want ErrDisallowed", i, err)
			}
		}
	}
	fetches := func() int { return len(web.Log()) }
	crawl()
	if n := fetches(); n != hosts {
		t.Fatalf("the first crawl fetched %d times, want %d", n, hosts)
	}
	waitFor(t, func() bool { return countFiles(t, dir, ".robots") == hosts })
	crawl()
	if n := fetches(); n != hosts {
		t.Errorf("the second crawl fetched %d times, want never", n-hosts)
	}
}

func TestDamagedFilesAreMisses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, damage := range []func(name string) error{
		func(name string) error { return os.Truncate(name, 0) },
		func(name string) error { return os.Truncate(name, 9) },
		func(name string) error { return os.Truncate(name, 15) },
		func(name string) error {
			return os.WriteFile(name, []byte("\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x03abcvalue"), 0o600)
		},
		func(name string) error { return os.WriteFile(name, []byte(strings.Repeat("\xff", 100)), 0o600) },
	} {
		// The first sweep runs at the same time as this loop. It may remove the
		// file that Put has just written, so the loop continues until there is
		// a file to damage.
		for damaged := false; !damaged; {
			if err := s.Put(t.Context(), "https://example.com", []byte("value"), time.Hour); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*", "*.robots"))
			if len(files) == 0 {
				continue
			}
			err := damage(files[0])
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			damaged = err == nil
		}
		if v, err := s.Get(t.Context(), "https://example.com"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get of a damaged file = %q, %v, want %v", v, err, fs.ErrNotExist)
		}
	}
}

// The end of a file is missing, or one of its bytes has changed. Get returns
// neither a part of the value nor a different value.
func TestDamagedFilesAreMisses_AnyByte(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const key = "https://example.com"
	if err := s.Put(t.Context(), "another key, whose Put begins the first sweep", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, []byte("the value"), time.Hour); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.robots"))
	name, whole := "", []byte(nil)
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(data), "the value") {
			name, whole = file, data
		}
	}
	get := func(data []byte) ([]byte, error) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return s.Get(t.Context(), key)
	}
	if v, err := get(whole); err != nil || string(v) != "the value" {
		t.Fatalf("Get of the whole file = %q, %v, want %q", v, err, "the value")
	}
	for i := range whole {
		if v, err := get(whole[:i]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get of the first %d bytes = %q, %v, want fs.ErrNotExist", i, v, err)
		}
		damaged := slices.Clone(whole)
		damaged[i] ^= 1
		if v, err := get(damaged); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get with byte %d changed = %q, %v, want fs.ErrNotExist", i, v, err)
		}
	}
	if v, err := get(append(whole, 0)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get with an additional byte = %q, %v, want fs.ErrNotExist", v, err)
	}
}

func TestDirectoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.MaxBytes = 100_000
	value := make([]byte, 1000)
	for i := range 1000 {
		if err := s.Put(t.Context(), fmt.Sprintf("https://h%d.example", i), value, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(dir, "tmp-of-a-dead-process")
	os.WriteFile(stale, value, 0o600)
	old := time.Now().Add(-2 * time.Hour)
	os.Chtimes(stale, old, old)
	waitFor(t, func() bool {
		if err := s.Put(t.Context(), "https://last.example", value, time.Hour); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(stale)
		return countFiles(t, dir, ".robots") <= 113 && errors.Is(err, fs.ErrNotExist)
	})
	if _, err := s.Get(t.Context(), "https://last.example"); err != nil {
		t.Errorf("Get of the newest value: got error %v, want none", err)
	}
}

// A process is repeatedly killed in the middle of its Puts. All values that
// remain are complete, and all its locks expire.
func TestKilledWriterLeavesWholeValues(t *testing.T) {
	if dir := os.Getenv("DISKSTORE_WRITE_TO"); dir != "" {
		writeForEver(open(t, dir))
	}
	dir := t.TempDir()
	s := open(t, dir)
	seen := 0
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriterLeavesWholeValues$")
		cmd.Env = append(os.Environ(), "DISKSTORE_WRITE_TO="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return countFiles(t, dir, ".robots") > seen })
		cmd.Process.Kill()
		cmd.Wait()
		seen = countFiles(t, dir, ".robots")
		for i := range 200 {
			v, err := s.Get(t.Context(), fmt.Sprintf("https://h%d.example", i))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get returned error %v, want none or fs.ErrNotExist", err)
			}
			if err == nil && len(v) != 100_000 {
				t.Errorf("a value has %d bytes, want 100,000", len(v))
			}
		}
		seen = min(seen, 199)
	}
	waitFor(t, func() bool {
		_, ok, err := s.TryLock(t.Context(), "https://h0.example", time.Minute)
		return ok && err == nil
	})
}

func writeForEver(s *diskstore.Store) {
	value := make([]byte, 100_000)
	for i := 0; ; i++ {
		key := fmt.Sprintf("https://h%d.example", i%200)
		s.TryLock(context.Background(), key, 50*time.Millisecond)
		if err := s.Put(context.Background(), key, value, time.Hour); err != nil {
			log.Fatal(err)
		}
	}
}

func countFiles(t *testing.T, dir, suffix string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// waitFor waits until ok returns true because of another process or goroutine.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition of waitFor is not met after a minute, want it met before")
		}
	}
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "robots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store, err := diskstore.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	store.MaxBytes = 10 << 30 // for a long crawl of many origins
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Store:     store,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%T\n", client.Transport)
	// Output: *robotsmw.Transport
}
