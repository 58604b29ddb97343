package audit

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/archive"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// open opens a file. Other commands take URLs, but audit does not. If the name
// is a URL, perhaps a mistyped one, the error states this.
func open(e command.Env, name string, watch func(n int)) (io.ReadCloser, error) {
	file, err := e.Open(name)
	if _, isMistyped := errors.AsType[command.UsageError](err); isMistyped || err != nil && command.IsURL(name) {
		return nil, command.Usagef("%q is not a file, and audit does not fetch URLs; save the content in a file, and specify that file", name)
	}
	if file, ok := file.(*os.File); ok && err == nil {
		return watchedFile{file, watch}, nil
	}
	return file, err
}

// openAll opens logs and WARC files, also those within containers. The returned
// function closes them; it is never nil.
func openAll(e command.Env, names []string, watch func(n int)) (inputs []audit.Input, closeAll func(), err error) {
	var closes []func()
	closeAll = func() {
		for _, f := range slices.Backward(closes) {
			f()
		}
	}
	for _, name := range names {
		file, err := open(e, name, watch)
		if err != nil {
			return nil, closeAll, err
		}
		closes = append(closes, func() { file.Close() })
		members, err := archive.Open(command.DisplayName(name), file)
		for _, m := range members {
			closes = append(closes, m.Close)
			inputs = append(inputs, audit.Input{Name: m.Name, Reader: m.Reader})
		}
		if err != nil {
			return nil, closeAll, err
		}
	}
	return inputs, closeAll, nil
}

// A watchedFile counts the bytes that are read of it.
type watchedFile struct {
	*os.File
	watch func(n int)
}

func (f watchedFile) Read(b []byte) (int, error) { return f.tell(f.File.Read(b)) }

func (f watchedFile) ReadAt(b []byte, offset int64) (int, error) {
	return f.tell(f.File.ReadAt(b, offset))
}

func (f watchedFile) tell(n int, err error) (int, error) {
	f.watch(n)
	return n, err
}

// A watchedDirectory opens the files of a directory as watchedFiles.
type watchedDirectory struct {
	fs.FS
	watch func(n int)
}

func (d watchedDirectory) Open(name string) (fs.File, error) {
	file, err := d.FS.Open(name)
	if file, ok := file.(*os.File); ok {
		return watchedFile{file, d.watch}, err
	}
	return file, err
}

// A history is what -robots names: the robots.txt files of a site, which it
// gives to the Auditor.
type history struct {
	judge    *audit.Auditor
	files    []*robotsFile // for the page, in the order of time
	hosts    int           // whose files these are; 0 means every host
	doubtful []robots.Doubtful
}

var errNoHistory = errors.New("it contains no robots.txt")

// read reads a file, an archive or a directory. If a file cannot be read, it
// returns an error. Without that file, the audit would judge by the wrong
// robots.txt, or by none. The robots.txt files in a WARC file are not checked
// for doubts.
func (h *history) read(e command.Env, name string, broken *brokenLines) error {
	if name == "" {
		return nil
	}
	if command.IsDirectory(name) {
		return h.readDirectory(name)
	}
	inputs, closeAll, err := openAll(e, []string{name}, broken.read)
	defer closeAll()
	if err != nil {
		return err
	}
	in := bufio.NewReader(inputs[0].Reader)
	begin, _ := in.Peek(len("WARC/"))
	isContainer := inputs[0].Name != command.DisplayName(name) // a WACZ
	if isContainer || string(begin) == "WARC/" || strings.HasPrefix(string(begin), "\x1f\x8b") {
		inputs[0].Reader = in
		if err := h.readArchives(inputs, broken); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(in, robotstxt.MaxSize+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", command.DisplayName(name), err)
	}
	h.add(command.DisplayName(name), time.Time{}, text, true)
	return nil
}

// add adds a file that is in force from the given time on. isPart is set if
// only the beginning of a long file is at hand.
func (h *history) add(name string, from time.Time, text []byte, isPart bool) {
	h.judge.AddRobotsTxt("", from, 200, text)
	h.files = append(h.files, newRobotsFile(name, text))
	if doubt := robots.Doubt(text, isPart); doubt != "" {
		h.doubtful = append(h.doubtful, robots.Doubtful{Source: name, Doubt: doubt})
	}
}

// readArchives reads the robots.txt files in WARC files.
func (h *history) readArchives(inputs []audit.Input, broken *brokenLines) error {
	known := make(map[string]bool)
	for _, in := range inputs {
		if err := h.readArchive(in.Name, in.Reader, known, broken); err != nil {
			return err
		}
	}
	if len(known) == 0 {
		return errNoHistory
	}
	h.hosts = len(known)
	return nil
}

// readArchive reads the robots.txt files in a WARC file. It adds the hosts of
// which there is one to known.
func (h *history) readArchive(name string, in io.Reader, known map[string]bool, broken *brokenLines) error {
	for resp, err := range audit.RobotsTxts(in) {
		switch {
		case resp == nil:
			return err
		case err != nil:
			broken.say("%s: %v", name, err)
			continue
		}
		from, _ := time.Parse(time.RFC3339Nano, resp.Header.Get("Warc-Date"))
		text, _ := io.ReadAll(resp.Body) // from memory
		if resp.StatusCode/100 == 3 {
			text = []byte(resp.Header.Get("Location"))
		}
		h.judge.AddRobotsTxt(resp.Request.URL.String(), from, resp.StatusCode, text)
		if resp.StatusCode/100 == 2 && len(h.files) < maxFiles {
			h.files = append(h.files, newRobotsFile(resp.Request.URL.String(), text))
		}
		if status := resp.StatusCode; status/100 != 5 && status != 429 && status != 304 {
			known[strings.ToLower(resp.Request.URL.Host)] = true // the others do not contain their robots.txt
		}
	}
	return nil
}

// readDirectory reads the *.txt files of a directory. The name of each file is
// the time at which the file came into force.
func (h *history) readDirectory(dir string) error {
	const how = "such as 2026-11-20T10:00:00Z.txt"
	names, err := fs.Glob(os.DirFS(dir), "*.txt")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w; name each file after the time from which it was in force, %s", dir, errNoHistory, how)
	}
	for _, name := range names {
		file := filepath.Join(dir, name)
		from, err := parseTime(strings.TrimSuffix(name, ".txt"))
		if err != nil {
			return fmt.Errorf("%s: name the file after the time from which it was in force, %s", file, how)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		h.add(file, from, text, false)
	}
	return nil
}

// parseTime parses a time in a flag or in the name of a file. Some systems
// allow no colons in names, hence the last form. Without a zone, the time is
// UTC.
func parseTime(value string) (t time.Time, err error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly, "20060102T150405Z0700"} {
		if t, err = time.Parse(form, value); err == nil {
			return t, nil
		}
	}
	return t, errors.New("must be a time such as 2026-11-20 or 2026-11-20T10:00:00Z")
}

const (
	// maxReported is how many lines of an input are reported for one problem.
	maxReported = 3
	// maxFaults is how many faults of records are shown in the text, and
	// pageFaults how many on the page.
	maxFaults  = 10
	pageFaults = 500
	// pageProblems is how many problems of lines are shown on the page.
	pageProblems = 200
	// maxProblems is how many problems are distinguished, for each of which
	// maxReported lines are reported. A server can make up more, such as
	// content codings.
	maxProblems = 10_000
	// maxFiles is how many robots.txt files of an archive are kept for the
	// page.
	maxFiles = 100
)

// brokenLines reports broken lines and records, and how much was read. Many
// lines of an input may have the same problem, for example if the input is a
// picture. Then only the first ones are reported, and the others are counted.
type brokenLines struct {
	w        io.Writer
	stdout   *bufio.Writer
	progress cli.Progress // for the terminal, if w is one
	nbytes   int          // how many bytes were read
	seen     map[problem]*repeats
	order    []*repeats
	told     []string // the first faults of records, and problems of -against, in words
	faults   []fault  // the first faults of records

	moreFaults int // how many others there were
}

// A fault is a place of a record that was changed, or that another place or the
// log contradicts.
type fault struct {
	Place, Kind, Text string
}

// An unread is a problem of lines that could not be read.
type unread struct {
	Input, Why, Last string
	Times            int
}

type problem struct{ input, text string }

type repeats struct {
	times int
	last  string
}

func (l *brokenLines) say(format string, args ...any) {
	l.progress.Clear()
	fmt.Fprintf(l.w, "robotscheck audit: "+format+"\n", args...)
}

// read shows how much was read. Lines that wait to be printed are printed
// first, because they may be for the same terminal.
func (l *brokenLines) read(n int) {
	l.nbytes += n
	l.progress.Show(func() string {
		l.stdout.Flush()
		return cli.Thousands(l.nbytes/1e6) + " MB read"
	})
}

func (l *brokenLines) add(input string, line int, err error) {
	if r := l.count(input, line, err); r.times <= maxReported {
		l.say("%s", r.last)
	}
}

// count counts a problem.
func (l *brokenLines) count(input string, line int, err error) *repeats {
	p := problem{input, err.Error()}
	if l.seen[p] == nil && len(l.seen) >= maxProblems {
		p = problem{input, "other problems"}
	}
	r := l.seen[p]
	if r == nil {
		r = new(repeats)
		l.seen[p], l.order = r, append(l.order, r)
	}
	r.last = describe(input, line, err)
	r.times++
	return r
}

// end reports how many lines and records were not reported.
func (l *brokenLines) end() {
	for _, r := range l.order {
		if n := r.times - maxReported; n > 0 {
			l.say("… and %s like it, up to %s", linesOrRecords(n, "more "), r.last)
		}
	}
}

// addFault reports a fault of a record. It reports repeated ones too, because
// each may show that the record was changed.
func (l *brokenLines) addFault(input string, line int, err error) {
	said := describe(input, line, err)
	l.say("%s", said)
	if len(l.told) < maxFaults {
		l.told = append(l.told, said)
	}
	kind, text, _ := strings.Cut(err.Error(), ": ")
	switch {
	case !slices.Contains(faultKinds, kind):
		l.count(input, line, err) // a line of -against that cannot be read
	case len(l.faults) == pageFaults:
		l.moreFaults++
	default:
		l.faults = append(l.faults, fault{fmt.Sprintf("%s:%d", input, line), kind, text})
	}
}

// faultKinds are the words with which the faults of a record begin.
var faultKinds = []string{"changed", "contradicts", "cut"}

// unread returns the problems of lines for the page.
func (l *brokenLines) unread() (all []unread) {
	for p, r := range l.seen {
		all = append(all, unread{p.input, p.text, r.last, r.times})
	}
	slices.SortFunc(all, func(a, b unread) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Input, b.Input), cmp.Compare(a.Why, b.Why))
	})
	return all[:min(len(all), pageProblems)]
}

func describe(input string, line int, err error) string {
	return fmt.Sprintf("%s:%d: %v", input, line, err)
}

// linesOrRecords writes a count of log lines and archive records in words, such
// as "1 broken line or record". kind is "" or a word with a space after it.
func linesOrRecords(n int, kind string) string {
	return cli.Count(n, kind+"line") + " or " + cli.Noun(n, "record")
}
