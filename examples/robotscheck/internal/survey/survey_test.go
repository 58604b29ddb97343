package survey

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A survey has the same result for an archive and for a directory with the same
// files. For both, -match selects files by their paths.
func TestSurvey_Archive(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "tree"), os.DirFS("../../testdata/survey")); err != nil {
		t.Fatal(err)
	}
	var plain, zipped bytes.Buffer
	archive := tar.NewWriter(&plain)
	if err := archive.AddFS(os.DirFS("../../testdata/survey")); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(&zipped)
	zip.Write(plain.Bytes())
	zip.Close()
	for name, text := range map[string][]byte{
		"a.tar": plain.Bytes(), "a.tar.gz": zipped.Bytes(), "a.tgz": zipped.Bytes(),
		"cut.tar": plain.Bytes()[:700], "cut.tgz": zipped.Bytes()[:100], "no.tgz": []byte("no archive"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, match := range []string{"", "*.html"} {
		_, want, _ := run(t, "-match", match, "tree")
		for _, name := range []string{"a.tar", "a.tar.gz", "a.tgz"} {
			status, got, stderr := run(t, "-match", match, name)
			if status != command.OK || got != want || stderr != "" {
				t.Errorf("%s, -match %q: exit status %d, standard error %q,\n%swant\n%s", name, match, status, stderr, got, want)
			}
		}
	}
	for _, name := range []string{"cut.tar", "cut.tgz", "no.tgz"} {
		if status, _, stderr := run(t, name); status != command.CannotTell || !strings.Contains(stderr, name) {
			t.Errorf("%s: exit status %d, standard error %q", name, status, stderr)
		}
	}
}

// An archive was cut, at any place. The survey counts the files that are
// complete, and says after which file something is missing.
func TestSurvey_CutArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	var plain, zipped bytes.Buffer
	archive := tar.NewWriter(&plain)
	names, ends := []string{"1.txt", "2.txt"}, []int{0} // where the last byte of each file is
	for _, name := range names {
		text := "User-agent: *\nDisallow: /" + name + "\n"
		archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})
		io.WriteString(archive, text)
		ends = append(ends, plain.Len())
		archive.Flush()
	}
	archive.Close()
	zip := gzip.NewWriter(&zipped)
	zip.Write(plain.Bytes())
	zip.Close()

	try := func(name string, text []byte) (files int, stderr string) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := run(t, "-json", name)
		if n, err := fmt.Sscanf(stdout, `{"files":%d,`, &files); n != 1 && stdout != "" {
			t.Fatalf("%s: %q, %v", name, stdout, err)
		}
		if ok := stderr == ""; ok != (status == command.OK) {
			t.Errorf("%s of %d bytes: exit status %d, standard error %q", name, len(text), status, stderr)
		}
		return files, stderr
	}
	for n := 0; n < plain.Len(); n += 16 { // which finds every border of a block
		files, stderr := try("a.tar", plain.Bytes()[:n])
		want := 0
		for want < len(ends)-1 && n >= ends[want+1] {
			want++
		}
		place := "at its beginning"
		switch {
		case n >= 512 && n < ends[1]:
			place = "in 1.txt"
		case n >= 1024+512 && n < ends[2]:
			place = "in 2.txt"
		case want > 0:
			place = "after " + names[want-1]
		}
		if files != want || !strings.Contains(stderr, "a.tar is cut short or damaged "+place+": ") {
			t.Errorf("a.tar, cut after %d bytes: %d files, want %d; standard error %q", n, files, want, stderr)
		}
	}
	last := 0
	for n := range zipped.Len() {
		files, stderr := try("a.tgz", zipped.Bytes()[:n])
		if last = max(last, files); files < last || !strings.Contains(stderr, "a.tgz is cut short or damaged ") {
			t.Errorf("a.tgz, cut after %d bytes: %d files after %d; standard error %q", n, files, last, stderr)
		}
	}
	if last != 2 {
		t.Errorf("a.tgz without its last byte: %d files", last)
	}
}

func run(t *testing.T, args ...string) (status command.Status, stdout, stderr string) {
	var out, errOut strings.Builder
	e := command.Env{Stdin: strings.NewReader(""), Stdout: bufio.NewWriter(&out), Stderr: &errOut}
	status = Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return status, out.String(), errOut.String()
}

// A list contains the name of a missing file, and this name has an escape
// character. The error shows the name, but must not send this character to the
// terminal.
func TestSurvey_NamesOfFilesThatAreMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"list": "no\x1b[2Jsuch\nrobots.txt\n", "robots.txt": "", "missing": "no\x1b[2Jsuch\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []string{"list", "missing"} {
		if status, _, stderr := run(t, list); status != command.CannotTell || strings.Contains(stderr, "\x1b") || !strings.Contains(stderr, "such: no such file") {
			t.Errorf("%s: exit status %d, standard error %q", list, status, stderr)
		}
	}
}

// The user gives a robots.txt or a picture where a list of files is expected. A
// single error says that this file was taken for a list. If the file is really
// a list, each missing file is named.
func TestSurvey_NoList(t *testing.T) {
	t.Chdir(t.TempDir())
	missing := strings.Repeat("missing.txt\n", trials-1)
	for name, text := range map[string]string{
		"robots.txt": "User-agent: *\n" + strings.Repeat("Disallow: /a\n", 500),
		"short":      "User-agent: *\n",
		"picture":    "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01",
		"list":       missing + "robots.txt\n" + missing + missing,
		"late":       missing + "missing.txt\nrobots.txt\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, want string
		lines      int
	}{
		{"robots.txt", "robots.txt was read as a list of files, but the first files in it cannot be read: open User-agent: *: no such file", 1},
		{"short", "short was read as a list of files", 1},
		{"picture", "picture was read as a list of files", 1},
		{"late", "late was read as a list of files", 1},
		{"list", "27 files could not be read", 27 + 1},
	} {
		status, stdout, stderr := run(t, tt.name)
		if n := strings.Count(stderr, "\n"); status != command.CannotTell || n != tt.lines || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit status %d, standard error of %d lines, want %d with %q:\n%s", tt.name, status, n, tt.lines, tt.want, stderr)
		}
		if isList := strings.HasPrefix(stdout, "1 file,"); isList != (tt.name == "list") {
			t.Errorf("%s: it prints %q", tt.name, stdout)
		}
	}
}

// The tally counts robots, patterns and lines over all files.
func TestTally_CountsOverFiles(t *testing.T) {
	all := newTally()
	for _, text := range []string{
		"User-agent: *\nDisallow: /a*b\nDisallow: /%41$\nCrawl-delay: 5\n",
		"User-agent: a\nUser-agent: B1/2\nDisallow: /?q\nDisallow: /\n",
		"User-agent: b1\nAllow: /\nnonsense here\n",
		"",
	} {
		all.add(examine([]byte(text)))
	}
	all.finish(10)
	var robots []robotRow
	for _, r := range all.Robots {
		robots = append(robots, *r)
	}
	if got := fmt.Sprint(robots); got != "[{b1 2 1 map[google:0 koster1996:0]} {* 1 0 map[google:0 koster1996:0]} {a 1 1 map[google:1 koster1996:1]}]" {
		t.Errorf("the robots are %s", got)
	}
	var rules []string
	for _, f := range all.Rules {
		rules = append(rules, fmt.Sprintf("{%s %d %d}", f.What, f.Rules, f.Files))
	}
	if got := fmt.Sprint(rules); got != `[{any pattern 5 3} {"*" 1 1} {"*" not at the end alone 1 1} {a final "$" 1 1} {an escape such as %20 1 1} {a query 1 1}]` {
		t.Errorf("the rules are %s", got)
	}
	if got := fmt.Sprint(all.Sizes[1]); got != "{lines 3 4 4 4}" {
		t.Errorf("the lines are %s", got)
	}
}

// On a terminal, a survey shows its progress ten times a second at most, and
// erases it at the end.
func TestSurvey_Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		s := survey{stderr: &screen, progress: cli.Progress{Terminal: &screen}}
		if _, err := s.run(t.Context(), func(each visit) error {
			for _, took := range []time.Duration{500 * time.Millisecond, 50 * time.Millisecond, time.Second} {
				time.Sleep(took)
				if err := each(nil, nil); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := cli.EraseLine + "  1 file, 2 a second\r" + cli.EraseLine + "  3 files, 2 a second\r" + cli.EraseLine
		if got := screen.String(); got != want {
			t.Errorf("the terminal got\n%q, want\n%q", got, want)
		}
	})
}

// The corpus of real files is not part of this repository. COURTESY_SHARED is
// the directory above the corpus; a relative path starts at the module's root.
// The expected figures were counted by another program.
func TestSurvey_Corpus(t *testing.T) {
	shared := os.Getenv("COURTESY_SHARED")
	if shared == "" {
		t.Skip("COURTESY_SHARED is not set: the corpus is NOT surveyed")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join("..", "..", "..", "..", shared)
	}
	s := survey{stderr: os.Stderr}
	total, err := s.run(t.Context(), func(each visit) error {
		return eachFile(command.Env{}, filepath.Join(shared, "corpus", "corpus.tar.gz"), "robots/*.txt", each)
	})
	if err != nil {
		t.Fatal(err)
	}
	if total.Files != 3491 || total.Bytes != 20048874 {
		t.Errorf("%d files, %d bytes; want 3491 and 20048874", total.Files, total.Bytes)
	}
}

// BenchmarkSurvey measures how many files a survey reads in a second. No survey
// can be faster than the linter alone. So after each survey, the benchmark runs
// only the linter, on all cores, with the same files in memory.
func BenchmarkSurvey(b *testing.B) {
	var files [][]byte
	for i := range 5000 {
		text := fmt.Sprintf("User-agent: *\nDisallow: /private/%d/\nDisallow: /search\nAllow: /search/about\n", i)
		for j := range 20 {
			text += fmt.Sprintf("Disallow: /tmp/%d/%d/\n", i, j)
		}
		files = append(files, []byte(text+"\nUser-agent: GPTBot\nDisallow: /\n"))
	}
	var ours, limit time.Duration
	for b.Loop() {
		start := time.Now()
		s := survey{stderr: io.Discard}
		total, err := s.run(b.Context(), func(each visit) error {
			for _, text := range files {
				if err := each(text, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || total.Files != len(files) {
			b.Fatal(err, total.Files)
		}
		ours += time.Since(start)

		limit += onAllCores(len(files), func(i int) { lint.Check(files[i]) })
	}
	n := float64(len(files) * b.N)
	b.ReportMetric(n/ours.Seconds(), "files/s")
	b.ReportMetric(n/limit.Seconds(), "linted-files/s")
}

// A file of any size takes a limited memory.
func TestSurvey_HugeFile(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "huge.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	zip, _ := gzip.NewWriterLevel(file, gzip.BestSpeed)
	archive := tar.NewWriter(zip)
	const size = 256 << 20
	if err := archive.WriteHeader(&tar.Header{Name: "robots.txt", Mode: 0o600, Size: size}); err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("User-agent: *\nDisallow: /a\n# "+strings.Repeat("x", 994)+"\n", 1<<10))
	for n := 0; n < size; n += len(line) {
		archive.Write(line[:min(len(line), size-n)])
	}
	if err := errors.Join(archive.Close(), zip.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	status, out, stderr := run(t, filepath.Join(dir, "huge.tgz"))
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; status != command.OK || n > 256 || !strings.Contains(out, "too-large") {
		t.Errorf("exit status %d, %s, and %d MiB were allocated:\n%s", status, stderr, n, out)
	}
}

// onAllCores calls f for each index below n, on all cores at once. It returns
// how long that took: how fast the command could be at best.
func onAllCores(n int, f func(i int)) time.Duration {
	start := time.Now()
	cores := runtime.GOMAXPROCS(0)
	var workers sync.WaitGroup
	for worker := range cores {
		workers.Go(func() {
			for i := worker; i < n; i += cores {
				f(i)
			}
		})
	}
	workers.Wait()
	return time.Since(start)
}

// Each file of a megabyte names another robot. The tally keeps the names, and
// not the files.
func TestTally_KeepsNoFiles(t *testing.T) {
	total := newTally()
	before := testmain.Heap()
	for i := range 30 {
		total.add(examine([]byte(fmt.Sprintf("User-agent: bot%d\nDisallow: /%s\n", i, strings.Repeat("x", 400<<10)))))
	}
	if grown := testmain.Heap() - before; grown > 3<<20 {
		t.Errorf("30 files take %d bytes", grown)
	}
	if total.finish(100); len(total.Robots) != 30 || total.Robots[0].Name != "bot0" {
		t.Errorf("%d robots are counted", len(total.Robots))
	}
}

// Hostile files name robots that no other file names, with very long names.
// Those that come first are counted, also in later files.
func TestTally_ManyNames(t *testing.T) {
	total := newTally()
	total.names = maxNames - 10*(rowBytes+5)
	for i := range 100 {
		total.add(examine([]byte(fmt.Sprintf("User-agent: bot%02d\nUser-agent: bot00\nDisallow: /\n", i))))
	}
	total.finish(100)
	if len(total.Robots) != 10 || total.Robots[0].Name != "bot00" || total.Robots[0].Files != 100 {
		t.Errorf("%d robots are counted, the first in %d files", len(total.Robots), total.Robots[0].Files)
	}
}
