package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

var errNoHistory = errors.New("there is no robots.txt in it")

// readHistory reads the robots.txt files that -robots names. If one cannot be
// read, it returns an error. Without that file, the audit would judge by the
// wrong robots.txt, or by none. The second result has the doubtful files. The
// robots.txt files in a WARC file are not checked, because AddWARC does not
// return them.
func readHistory(e command.Env, name string, onBroken func(audit.Broken)) (*audit.History, []robots.Doubtful, error) {
	h := new(audit.History)
	if name == "" {
		return h, nil, nil
	}
	if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
		doubtful, err := readDirectory(h, name)
		return h, doubtful, err
	}
	file, err := open(e, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	begin, _ := in.Peek(len("WARC/"))
	if string(begin) != "WARC/" && !strings.HasPrefix(string(begin), "\x1f\x8b") {
		text, err := io.ReadAll(io.LimitReader(in, robotstxt.MaxSize+1))
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", command.ShownName(name), err)
		}
		h.Add("", time.Time{}, 200, text)
		if why := robots.DoubtOfFetched(text); why != "" { // as with a fetched file, the end of a long file is not read
			return h, []robots.Doubtful{{Source: command.ShownName(name), Doubt: why}}, nil
		}
		return h, nil, nil
	}
	archive, err := audit.NewWARCReader(in)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	err = h.AddWARC(archive, func(err error) {
		if broken, ok := errors.AsType[*audit.WARCError](err); ok {
			onBroken(audit.Broken{Input: command.ShownName(name), Line: broken.Record, Err: broken.Err})
		}
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	case h.Hosts() == 0:
		return nil, nil, fmt.Errorf("%s: %w", name, errNoHistory)
	}
	return h, nil, nil
}

// readDirectory adds the *.txt files of a directory to h. The name of each file
// is the time at which the file came into force. readDirectory returns the
// doubtful files.
func readDirectory(h *audit.History, dir string) (doubtful []robots.Doubtful, _ error) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w; name them by the time from which on they were in force, such as 2026-11-20T10:00:00Z.txt", dir, errNoHistory)
	}
	var bad []error
	for _, name := range names {
		from, err := timeOf(strings.TrimSuffix(filepath.Base(name), ".txt"))
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: name it by the time from which on it was in force, such as 2026-11-20T10:00:00Z.txt", name))
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		h.Add("", from, 200, text)
		if why := robots.Doubt(text); why != "" {
			doubtful = append(doubtful, robots.Doubtful{Source: name, Doubt: why})
		}
	}
	if len(bad) > 1 {
		return nil, fmt.Errorf("%w, and %s like it", bad[0], command.Count(len(bad)-1, "file"))
	}
	return doubtful, errors.Join(bad...)
}

// timeOf parses the name of a file, without ".txt". The name is a time in the
// form of RFC 3339. Some systems allow no colons in names, so the form
// 20261120T100000Z is accepted too.
func timeOf(name string) (time.Time, error) {
	if t, err := time.Parse("20060102T150405Z0700", name); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339Nano, name)
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
