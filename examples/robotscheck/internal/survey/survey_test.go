package survey

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// A result is the exit status and the output of a command.
type result struct {
	status         command.Status
	stdout, stderr string
}

func runSurvey(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	e := command.Env{
		Stdin:  strings.NewReader(""),
		Stdout: bufio.NewWriter(&stdout),
		Stderr: &stderr,
	}
	status := Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return result{status, stdout.String(), stderr.String()}
}

func (r result) checkStatus(t *testing.T, want command.Status) {
	t.Helper()
	if r.status != want {
		t.Errorf("exit status %d, want %d\nstandard output:\n%s\nstandard error:\n%s",
			r.status, want, r.stdout, r.stderr)
	}
}

func checkContains(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", name, part, text)
		}
	}
}

// writeFiles writes files, by their paths, into the current directory.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func compressGzip(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// The result for an archive is the same as for a directory with the same files.
// For both, -match selects files by their paths.
func TestSurvey_Archive(t *testing.T) {
	tree := os.DirFS("../../testdata/survey")
	var b strings.Builder
	w := tar.NewWriter(&b)
	if err := w.AddFS(tree); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := b.String()
	compressed := compressGzip(archive)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "tree"), tree); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	writeFiles(t, map[string]string{
		"a.tar":    archive,
		"a.tar.gz": compressed,
		"a.tgz":    compressed,
		"cut.tar":  archive[:700],
		"cut.tgz":  compressed[:100],
		"no.tgz":   "no archive",
	})
	for _, pattern := range []string{"", "*.html"} {
		want := runSurvey(t, "-match", pattern, "tree").stdout
		for _, name := range []string{"a.tar", "a.tar.gz", "a.tgz"} {
			r := runSurvey(t, "-match", pattern, name)
			r.checkStatus(t, command.OK)
			if r.stdout != want {
				t.Errorf("%s, -match %q: standard output is\n%swant\n%s", name, pattern, r.stdout, want)
			}
			if r.stderr != "" {
				t.Errorf("%s, -match %q: standard error is %q, want nothing", name, pattern, r.stderr)
			}
		}
	}
	for _, name := range []string{"cut.tar", "cut.tgz", "no.tgz"} {
		r := runSurvey(t, name)
		r.checkStatus(t, command.CannotTell)
		checkContains(t, "standard error", r.stderr, name)
	}
}

// twoFileArchive returns a tar archive with 1.txt and 2.txt. ends has the
// positions after the content of each file.
func twoFileArchive(t *testing.T) (archive string, ends []int) {
	t.Helper()
	var b strings.Builder
	w := tar.NewWriter(&b)
	for _, name := range []string{"1.txt", "2.txt"} {
		text := "User-agent: *\nDisallow: /" + name + "\n"
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})
		io.WriteString(w, text)
		ends = append(ends, b.Len())
		w.Flush()
	}
	w.Close()
	return b.String(), ends
}

// countFiles surveys an archive, and returns the number of files that were
// read, and the standard error.
func countFiles(t *testing.T, name, archive string) (n int, stderr string) {
	t.Helper()
	writeFiles(t, map[string]string{name: archive})
	r := runSurvey(t, "-json", name)
	if scanned, err := fmt.Sscanf(r.stdout, `{"files":%d,`, &n); scanned != 1 && r.stdout != "" {
		t.Fatalf("%s: standard output is %q, want a number of files (%v)", name, r.stdout, err)
	}
	isOK := r.status == command.OK
	if hasError := r.stderr != ""; isOK == hasError {
		t.Errorf("%s of %d bytes: exit status %d, standard error %q; want an error message if and only if the status is not 0", name, len(archive), r.status, r.stderr)
	}
	return n, r.stderr
}

// Wherever an archive was truncated, the survey counts the files that are
// complete, and the error contains the file after which data is missing.
func TestSurvey_TruncatedArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	archive, ends := twoFileArchive(t)
	const block = 512
	place := func(n int) (files int, place string) {
		switch {
		case n < block:
			return 0, "at its beginning"
		case n < ends[0]:
			return 0, "in 1.txt"
		case n < 3*block:
			return 1, "after 1.txt"
		case n < ends[1]:
			return 1, "in 2.txt"
		}
		return 2, "after 2.txt"
	}
	for n := 0; n < len(archive); n += 16 { // includes the end of each block
		wantFiles, wantPlace := place(n)
		files, stderr := countFiles(t, "a.tar", archive[:n])
		if files != wantFiles {
			t.Errorf("a.tar, cut after %d bytes, has %d files, want %d", n, files, wantFiles)
		}
		checkContains(t, "standard error", stderr, "a.tar is cut short or damaged "+wantPlace+": ")
	}
}

// The number of files that can be read of a compressed archive never decreases
// with the number of its bytes.
func TestSurvey_TruncatedCompressedArchive(t *testing.T) {
	t.Chdir(t.TempDir())
	archive, _ := twoFileArchive(t)
	compressed := compressGzip(archive)
	last := 0
	for n := range len(compressed) {
		files, stderr := countFiles(t, "a.tgz", compressed[:n])
		if files < last {
			t.Errorf("a.tgz, cut after %d bytes, has %d files, want at least %d", n, files, last)
		}
		checkContains(t, "standard error", stderr, "a.tgz is cut short or damaged ")
		last = files
	}
	if last != 2 {
		t.Errorf("a.tgz without its last byte has %d files, want 2", last)
	}
}

// A list contains the name of a missing file with an escape character. The
// error contains the name, but not this character, which could control the
// terminal.
func TestSurvey_UnprintableFileName(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"list":       "no\x1b[2Jsuch\nrobots.txt\n",
		"robots.txt": "",
		"missing":    "no\x1b[2Jsuch\n",
	})
	for _, list := range []string{"list", "missing"} {
		r := runSurvey(t, list)
		r.checkStatus(t, command.CannotTell)
		checkContains(t, "standard error", r.stderr, "such: no such file")
		if strings.Contains(r.stderr, "\x1b") {
			t.Errorf("standard error contains an escape character: %q", r.stderr)
		}
	}
}

// If the argument is a robots.txt or a picture instead of a list of files, a
// single error reports that it was read as a list. If it is a list, each
// missing file is reported.
func TestSurvey_NotAList(t *testing.T) {
	t.Chdir(t.TempDir())
	missing := strings.Repeat("missing.txt\n", maxTrials-1)
	writeFiles(t, map[string]string{
		"robots.txt": "User-agent: *\n" + strings.Repeat("Disallow: /a\n", 500),
		"short":      "User-agent: *\n",
		"picture":    "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01",
		"list":       missing + "robots.txt\n" + missing + missing,
		"late":       missing + "missing.txt\nrobots.txt\n",
	})
	for _, tt := range []struct {
		name, want string
		lines      int // of standard error
	}{
		{
			"robots.txt", "robots.txt was read as a list of files, but the first files in it " +
				"cannot be read: open User-agent: *: no such file",
			1,
		},
		{"short", "short was read as a list of files", 1},
		{"picture", "picture was read as a list of files", 1},
		{"late", "late was read as a list of files", 1},
		{"list", "27 files could not be read", 27 + 1},
	} {
		r := runSurvey(t, tt.name)
		r.checkStatus(t, command.CannotTell)
		checkContains(t, "standard error", r.stderr, tt.want)
		if n := strings.Count(r.stderr, "\n"); n != tt.lines {
			t.Errorf("%s: standard error has %d lines, want %d:\n%s", tt.name, n, tt.lines, r.stderr)
		}
		hasResult := strings.HasPrefix(r.stdout, "1 file,")
		if want := tt.name == "list"; hasResult != want {
			t.Errorf("%s: has a result of one file: %t, want %t:\n%s", tt.name, hasResult, want, r.stdout)
		}
	}
}

// The tally counts the robots, patterns and lines of all files.
func TestTally(t *testing.T) {
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
	var robots []string
	for _, r := range all.Robots {
		robots = append(robots, fmt.Sprint(*r))
	}
	checkEqual(t, "robots", robots,
		"{b1 2 1 map[google:0 koster1996:0]}",
		"{* 1 0 map[google:0 koster1996:0]}",
		"{a 1 1 map[google:1 koster1996:1]}")
	var rules []string
	for _, f := range all.Rules {
		rules = append(rules, fmt.Sprintf("%s: %d in %d", f.What, f.Rules, f.Files))
	}
	checkEqual(t, "rules", rules,
		"any pattern: 5 in 3",
		`"*": 1 in 1`,
		`"*" not at the end alone: 1 in 1`,
		`a final "$": 1 in 1`,
		"an escape such as %20: 1 in 1",
		"a query: 1 in 1")
	if got, want := fmt.Sprint(all.Sizes[1]), "{lines 3 4 4 4}"; got != want {
		t.Errorf("sizes of lines are %s, want %s", got, want)
	}
}

func checkEqual(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s are %q, want %q", name, got, want)
	}
}

// On a terminal, a survey shows its progress at most ten times a second, and
// erases it at the end.
func TestSurvey_Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		s := newSurvey(command.Env{Stderr: &screen})
		s.progress.Terminal = &screen
		err := s.run(t.Context(), func(f visitFunc) error {
			for _, d := range []time.Duration{500 * time.Millisecond, 50 * time.Millisecond, time.Second} {
				time.Sleep(d)
				if err := f(nil, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := cli.EraseLine + "  1 file, 2 a second\r" +
			cli.EraseLine + "  3 files, 2 a second\r" +
			cli.EraseLine
		if got := screen.String(); got != want {
			t.Errorf("the terminal shows\n%q, want\n%q", got, want)
		}
	})
}

// The corpus of real files is not part of this repository. COURTESY_SHARED is
// the directory above the corpus; a relative path begins at the root of the
// module. The expected figures were counted by another program.
func TestSurvey_Corpus(t *testing.T) {
	shared := os.Getenv("COURTESY_SHARED")
	if shared == "" {
		t.Skip("SKIPPED: COURTESY_SHARED is not set, so the corpus is not examined")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join("..", "..", "..", "..", shared)
	}
	corpus := filepath.Join(shared, "corpus", "corpus.tar.gz")
	s := newSurvey(command.Env{Stderr: os.Stderr})
	err := s.run(t.Context(), func(f visitFunc) error {
		return eachFile(command.Env{}, corpus, "robots/*.txt", f)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.tally.Files != 3491 || s.tally.Bytes != 20048874 {
		t.Errorf("survey counted %d files and %d bytes, want 3491 and 20048874", s.tally.Files, s.tally.Bytes)
	}
}

// BenchmarkSurvey measures how many files a survey reads per second and, for
// comparison, how many the linter alone checks, on all cores.
func BenchmarkSurvey(b *testing.B) {
	var files [][]byte
	for i := range 5000 {
		text := fmt.Sprintf("User-agent: *\nDisallow: /private/%d/\n", i) +
			"Disallow: /search\nAllow: /search/about\n"
		for j := range 20 {
			text += fmt.Sprintf("Disallow: /tmp/%d/%d/\n", i, j)
		}
		files = append(files, []byte(text+"\nUser-agent: GPTBot\nDisallow: /\n"))
	}
	var surveyTime, lintTime time.Duration
	for b.Loop() {
		start := time.Now()
		s := newSurvey(command.Env{Stderr: io.Discard})
		err := s.run(b.Context(), func(f visitFunc) error {
			for _, text := range files {
				if err := f(text, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		if s.tally.Files != len(files) {
			b.Fatalf("survey counted %d files, want %d", s.tally.Files, len(files))
		}
		surveyTime += time.Since(start)

		lintTime += onAllCores(len(files), func(i int) { lint.Check(files[i]) })
	}
	n := float64(len(files) * b.N)
	b.ReportMetric(n/surveyTime.Seconds(), "files/s")
	b.ReportMetric(n/lintTime.Seconds(), "linted-files/s")
}

// The memory for a file is bounded, whatever its size is.
func TestSurvey_HugeFile(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "huge.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	const size = 256 << 20
	header := &tar.Header{Name: "robots.txt", Mode: 0o600, Size: size}
	if err := archive.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	group := "User-agent: *\nDisallow: /a\n# " + strings.Repeat("x", 994) + "\n"
	groups := []byte(strings.Repeat(group, 1<<10))
	for n := 0; n < size; n += len(groups) {
		archive.Write(groups[:min(len(groups), size-n)])
	}
	if err := errors.Join(archive.Close(), compressed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := runSurvey(t, file.Name())
	runtime.ReadMemStats(&after)
	r.checkStatus(t, command.OK)
	checkContains(t, "standard output", r.stdout, "too-large")
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 256 {
		t.Errorf("survey allocated %d MiB, want at most 256", n)
	}
}

// onAllCores calls f for each index below n, on all cores in parallel, and
// returns how long that took.
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

// Each file names another robot. The tally keeps the names, but not the files,
// which the names are parts of.
func TestTally_KeepsNoFiles(t *testing.T) {
	total := newTally()
	before := testmain.Heap()
	for i := range 30 {
		text := fmt.Sprintf("User-agent: bot%d\nDisallow: /%s\n", i, strings.Repeat("x", 400<<10))
		total.add(examine([]byte(text)))
	}
	if n := testmain.Heap() - before; n > 3<<20 {
		t.Errorf("tally of 30 files keeps %d bytes in memory, want at most %d", n, 3<<20)
	}
	total.finish(100)
	if len(total.Robots) != 30 || total.Robots[0].Name != "bot0" {
		t.Errorf("tally has %d robots, want 30 from bot0 on", len(total.Robots))
	}
}

// Hostile files name robots that no other file names. When the memory for them
// is full, only the known robots are still counted.
func TestTally_ManyRobots(t *testing.T) {
	total := newTally()
	total.nbytes = maxRobotBytes - 10*(rowBytes+len("bot00"))
	for i := range 100 {
		text := fmt.Sprintf("User-agent: bot%02d\nUser-agent: bot00\nDisallow: /\n", i)
		total.add(examine([]byte(text)))
	}
	total.finish(100)
	if len(total.Robots) != 10 {
		t.Fatalf("tally has %d robots, want 10", len(total.Robots))
	}
	first := total.Robots[0]
	if first.Name != "bot00" || first.Files != 100 {
		t.Errorf("first robot is %s in %d files, want bot00 in 100", first.Name, first.Files)
	}
}
