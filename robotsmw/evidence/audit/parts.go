package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// A log is in order, but for lines up to 90 s from their place. Where time goes
// back by more, another log goes on: that of another front end, which was put
// behind the first one, or the buffer of another worker. So a log is read once
// to divide it into parts that are each in order.
type part struct {
	sections []section
	newest   int64
}

// mostParts is how many parts a log is divided into at most. Lines that fit
// into none of them are left where they are.
const mostParts = 64

// partOf returns the index of the part that goes on at a time: the one that is
// nearest to it, of those that are in order. It may add a part.
func partOf(parts []part, now int, at int64) ([]part, int) {
	if n := parts[now].newest; n == never || at >= n-reach && at <= n+reach {
		return parts, now
	}
	best := -1
	for i, p := range parts {
		if p.newest <= at+reach && (best < 0 || p.newest > parts[best].newest || p.newest == parts[best].newest && i == now) {
			best = i
		}
	}
	switch {
	case best >= 0:
		return parts, best
	case len(parts) == mostParts:
		return parts, now
	}
	return append(parts, part{newest: never}), len(parts)
}

// divide reads a log and returns its parts. It also finds out when the log
// begins, and whether a robot asks for robots.txt in it. If the log cannot be
// read to its end, the parts are those of what can be read.
func (a *Auditor) divide(ctx context.Context, in *bufio.Reader) []part {
	parts, now := []part{{newest: never, sections: make([]section, 1)}}, 0
	lines := lineReader{in: in}
	var p parser
	for begin := int64(0); ; begin = lines.offset {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) || lines.number%1024 == 0 && ctx.Err() != nil {
			return parts
		}
		if at, ok := p.when(line); ok {
			a.begins(at)
			if !a.asked && bytes.Contains(line, []byte("/robots.txt")) {
				e, _, _ := p.line(line)
				a.asked = e != nil && isRobots(e.url)
			}
			before := now
			if parts, now = partOf(parts, now, at); now != before {
				parts[now].sections = append(parts[now].sections, section{begin, begin, lines.number - 1})
			}
			parts[now].newest = max(parts[now].newest, at)
		}
		sections := parts[now].sections
		sections[len(sections)-1].end = lines.offset
	}
}

// when returns the time of a line, if it has one.
func (p *parser) when(line []byte) (at int64, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		_, at, _, ok = p.dated(line)
		return at, ok
	}
	_, value, ok := bytes.Cut(line, []byte(`"ts":`)) // a quote within a string has a backslash
	if i := bytes.IndexAny(value, ",}"); ok && i >= 0 && value[0] != '"' {
		value = value[:i]
	} else if ok {
		value, _, _ = bytes.Cut(value[min(1, len(value)):], []byte(`"`))
		value = append(append([]byte{'"'}, value...), '"')
	}
	at, _ = moment(bytes.TrimSpace(value))
	return at, ok && at != never
}

// An opener makes the sources of an input.
type opener struct {
	a      *Auditor
	ctx    context.Context
	name   string
	closes []func() error
}

func (o *opener) close() {
	for _, f := range o.closes {
		f()
	}
}

func (o *opener) open(r io.Reader) ([]*source, error) {
	file, size := fileOf(r)
	whole := func() (*bufio.Reader, bool, error) {
		if file != nil {
			r = io.NewSectionReader(file, 0, size)
		}
		return unzipped(bufio.NewReaderSize(r, 64<<10))
	}
	in, zipped, err := whole()
	if err != nil {
		return []*source{o.source(nil, err)}, nil
	}
	if isWARC(in) {
		s := o.source(in, nil)
		s.archive = &WARCReader{in: in}
		return []*source{s}, nil
	}
	var failed error
	if file == nil {
		if file, size, failed, err = o.copy(in); err != nil {
			return nil, err
		}
		zipped = false
		in, _, _ = whole()
	}
	parts := o.a.divide(o.ctx, in)
	if in, _, err = whole(); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return []*source{o.source(in, failed)}, nil
	}
	if zipped {
		if file, _, failed, err = o.copy(in); err != nil {
			return nil, err
		}
	}
	var sources []*source
	for _, p := range parts {
		s := o.source(bufio.NewReaderSize(bytes.NewReader(nil), 64<<10), nil)
		s.file, s.sections = file, p.sections
		sources = append(sources, s)
	}
	sources[0].failed = failed
	return sources, nil
}

func (o *opener) source(in *bufio.Reader, failed error) *source {
	if in == nil {
		in = bufio.NewReader(bytes.NewReader(nil))
	}
	return &source{a: o.a, ctx: o.ctx, name: o.name, newest: never, lines: &lineReader{in: in}, failed: failed}
}

// fileOf returns what can be read more than once, and its size, or nil.
func fileOf(r io.Reader) (io.ReaderAt, int64) {
	file, isFile := r.(io.ReaderAt)
	seeker, canSeek := r.(io.Seeker)
	if !isFile || !canSeek {
		return nil, 0
	}
	size, err := seeker.Seek(0, io.SeekEnd)
	if err != nil || size == 0 { // such as a pipe, or a file in /proc
		return nil, 0
	}
	return file, size
}

// unzipped returns what the Reader has, without its compression.
func unzipped(in *bufio.Reader) (_ *bufio.Reader, zipped bool, err error) {
	if !isGzip(in) {
		return in, false, nil
	}
	unpacked, err := gzip.NewReader(in)
	return bufio.NewReaderSize(unpacked, 64<<10), true, err
}

// copy copies a log into a temporary file. failed is why the log could not be
// read to its end.
func (o *opener) copy(in io.Reader) (file *os.File, size int64, failed, err error) {
	if file, err = os.CreateTemp("", "audit-*.log"); err != nil {
		return nil, 0, nil, fmt.Errorf("copy %s, to read it twice: %w", o.name, err)
	}
	name := file.Name()
	o.closes = append(o.closes, file.Close, func() error { return os.Remove(name) })
	for buf := make([]byte, 256<<10); failed == nil; {
		if err := o.ctx.Err(); err != nil {
			return nil, 0, nil, err
		}
		n, err := in.Read(buf)
		failed = err
		if _, err := file.Write(buf[:n]); err != nil {
			return nil, 0, nil, fmt.Errorf("copy %s, to read it twice: %w", o.name, err)
		}
		size += int64(n)
	}
	return file, size, atEnd(failed), nil
}
