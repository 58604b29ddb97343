package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// Read judges the requests of all inputs together, in the order in which they
// began. The parts of a rotated log, and the logs of several front ends, may be
// in any order, as separate inputs or concatenated. Lines and records that
// cannot be read are passed to OnBroken. Read returns an error only if ctx
// ends, if a temporary file cannot be written, if a.Format is unknown or, as a
// [FormatError], if no line of a log is in a known format.
//
// In Caddy's log, a request starts at its "ts" minus its "duration". The dates
// in a WARC file are starts. In the combined format, the start is known if
// $msec and $request_time follow the User-Agent. Otherwise the line contains
// only the second in which the request ended; the request may have begun up to
// a minute before, but not before the robot's first fetch of robots.txt from
// its address. Even if the start is known, the robot may have sent the request
// up to a second before. Therefore, a gap is reported only if a series of
// requests contains more of them than the Crawl-delay allows in the duration of
// the series plus one second.
//
// Lines of a log may be up to 90 seconds out of order. Where the time decreases
// by more, the log is divided, because it may be a concatenation of the logs of
// several front ends or workers. Up to 64 such parts are merged like separate
// logs. Lines that are still further out of order are counted as "jumps", and
// judged by robots.txt alone.
func (a *Auditor) Read(ctx context.Context, inputs ...Input) error {
	if !isFormat(a.Format) {
		return fmt.Errorf("%w %q: use one of %s", errNoFormat, a.Format, strings.Join(Formats(), ", "))
	}
	a.init()
	var parts []iter.Seq[*event]
	for _, in := range inputs {
		o := opener{a: a, ctx: ctx, name: in.Name}
		defer o.close()
		opened, err := o.open(in.Reader)
		if err != nil {
			return err
		}
		parts = append(parts, opened...)
	}
	// The requests are judged only after all inputs have been opened, because
	// judging needs the time of the first line, and whether any robot requests
	// robots.txt.
	for e := range merge(parts) {
		a.add(e)
	}
	return ctx.Err()
}

// merge returns the events of all parts. They are in the order of time if each
// part is in order.
func merge(parts []iter.Seq[*event]) iter.Seq[*event] {
	if len(parts) == 1 {
		return parts[0] // iter.Pull would switch coroutines twice per event
	}
	type source struct {
		next func() (*event, bool)
		head *event
	}
	return func(yield func(*event) bool) {
		var sources []*source
		for _, part := range parts {
			next, stop := iter.Pull(part)
			defer stop()
			head, _ := next()
			sources = append(sources, &source{next, head})
		}
		for {
			sources = slices.DeleteFunc(sources, func(s *source) bool { return s.head == nil })
			if len(sources) == 0 {
				return
			}
			s := slices.MinFunc(sources, func(s, t *source) int { return cmp.Compare(s.head.time(), t.head.time()) })
			if !yield(s.head) {
				return
			}
			s.head, _ = s.next()
		}
	}
}

// An opener divides an input into parts.
type opener struct {
	a      *Auditor
	ctx    context.Context
	name   string
	closes []func() error // they close and remove temporary files
}

func (o *opener) close() {
	for _, f := range o.closes {
		f()
	}
}

// open returns the events of the parts of an input. An error in the input
// itself is reported to OnBroken.
func (o *opener) open(r io.Reader) ([]iter.Seq[*event], error) {
	file, size := asFile(r)
	// restart returns a reader of the whole input, without its compression. If
	// there is no file, it must be called only once.
	restart := func() (in *bufio.Reader, isGzip bool, err error) {
		if file != nil {
			r = io.NewSectionReader(file, 0, size)
		}
		return unzip(bufio.NewReaderSize(r, 64<<10))
	}
	in, isGzip, failed := restart()
	if failed != nil {
		return []iter.Seq[*event]{func(func(*event) bool) { o.reportCut(1, failed) }}, nil
	}
	if hasPrefix(in, "WARC/") {
		return []iter.Seq[*event]{o.archive(&warcReader{in: in})}, nil
	}
	var err error
	if file == nil {
		file, size, failed, err = o.copy(in)
		if err != nil {
			return nil, err
		}
		isGzip = false
		in, _, _ = restart()
	}
	parts, unknown := o.a.divide(o.ctx, in)
	if unknown != nil && o.ctx.Err() == nil {
		return nil, &FormatError{Input: o.name, Format: o.a.Format, Line: shorten(unknown)}
	}
	in, _, err = restart()
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return []iter.Seq[*event]{o.log(in, nil, nil, failed)}, nil
	}
	if isGzip { // the sections of a compressed log cannot be read in any order
		file, _, failed, err = o.copy(in)
		if err != nil {
			return nil, err
		}
	}
	var all []iter.Seq[*event]
	for _, p := range parts {
		all = append(all, o.log(bufio.NewReaderSize(bytes.NewReader(nil), 64<<10), file, p.sections, failed))
		failed = nil // so that the error is reported only once
	}
	return all, nil
}

// asFile returns r as a file that can be read more than once, and its size in
// bytes. It returns nil if r can be read only once.
func asFile(r io.Reader) (io.ReaderAt, int64) {
	file, isFile := r.(io.ReaderAt)
	seeker, canSeek := r.(io.Seeker)
	if !isFile || !canSeek {
		return nil, 0
	}
	size, err := seeker.Seek(0, io.SeekEnd)
	if err != nil || size == 0 { // r is a pipe, or a file in /proc, for example
		return nil, 0
	}
	return file, size
}

// copy copies a log into a temporary file. failed is the reason why the log
// could not be read to its end, or nil.
func (o *opener) copy(in io.Reader) (file *os.File, size int64, failed, err error) {
	file, err = os.CreateTemp("", "audit-*.log")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("cannot copy %s to a temporary file: %w", o.name, err)
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
			return nil, 0, nil, fmt.Errorf("cannot copy %s to a temporary file: %w", o.name, err)
		}
		size += int64(n)
	}
	return file, size, withoutEOF(failed), nil
}

// log returns the events of robots in a part of a log: in the rest of in, and
// then in sections of a file. failed is the reason why the log could not be
// read to its end, or nil.
func (o *opener) log(in *bufio.Reader, file io.ReaderAt, sections []section, failed error) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		lines := lineReader{in: in}
		newest := int64(never)
		p := parser{format: o.a.Format, pool: &o.a.pool}
		for {
			line, err := lines.next()
			switch {
			case errors.Is(err, errLong):
				o.a.lines++
				o.a.reportBroken(o.name, lines.number, err)
				continue
			case errors.Is(err, io.EOF) && len(sections) > 0:
				s := sections[0]
				in.Reset(io.NewSectionReader(file, s.begin, s.end-s.begin))
				lines.number = s.line
				p.columns = s.columns
				sections = sections[1:]
				continue
			case err != nil:
				o.reportCut(lines.number+1, cmp.Or(failed, withoutEOF(err)))
				return
			case lines.number%1024 == 0 && o.ctx.Err() != nil:
				return
			case len(bytes.TrimSpace(line)) == 0:
				continue
			}
			o.a.lines++
			e, err := p.line(line)
			if err != nil {
				o.a.reportBroken(o.name, lines.number, err)
			}
			if e.isRequest {
				newest = o.countRequest(lines.number, e.at, newest)
				o.a.countAgent(e.at, e.hasAgent)
			}
			if e.event != nil && !yield(e.event) {
				return
			}
		}
	}
}

// archive returns the events of robots in a WARC file.
func (o *opener) archive(w *warcReader) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		newest := int64(never)
		isStopped := false
		x := exchanges{each: func(e *event) {
			o.a.noteLine(e.at)
			newest = o.countRequest(w.number, e.at, newest)
			o.a.countAgent(e.at, e.hasAgent)
			isRobot := e.robot != ""
			if isRobot && !isStopped {
				isStopped = !yield(e)
			}
		}}
		for !isStopped && o.ctx.Err() == nil {
			r, err := w.next()
			if err != nil {
				for _, h := range x.pending {
					x.emit(h)
				}
				number := w.number
				failed := withoutEOF(err)
				if !w.cut {
					number++ // it is the next record that cannot be read
				} else if failed == nil {
					o.a.total.count("cut", 1) // the error has been reported
				}
				o.reportCut(number, failed)
				return
			}
			o.a.lines++
			if r.err == nil {
				r.err = x.add(r)
			}
			if r.err != nil {
				o.a.reportBroken(o.name, r.number, r.err)
			}
		}
	}
}

// reportCut reports the reason why the input could not be read to its end. It
// does nothing if failed is nil.
func (o *opener) reportCut(number int, failed error) {
	if failed != nil {
		o.a.reportBroken(o.name, number, fmt.Errorf("the rest cannot be read: %w", failed))
		o.a.total.count("cut", 1)
	}
}

var errNoFormat = errors.New("unknown format")

var errJump = errors.New("the line is out of order: its time is more than 90 s before that of an earlier line, so gaps are not checked")

// countRequest counts a request, and reports it if it is too far out of order.
// newest is the latest time of the previous requests, or "never". The result is
// the later one of newest and at.
func (o *opener) countRequest(number int, at, newest int64) int64 {
	if o.a.counts(at) {
		o.a.total.Requests++
	}
	if newest != never && at < newest-maxLogDisorder {
		o.a.total.count("jumps", 1)
		if o.a.OnBroken != nil {
			o.a.OnBroken(o.name, number, errJump)
		}
	}
	return max(newest, at)
}

// A part is a subset of the lines of a log that is in the order of time, except
// that a line may be up to maxLogDisorder late. A line that is later belongs to
// another part: for example, the log of another front end was appended to the
// first one, or another worker of the server has written its buffer.
type part struct {
	sections []section
	newest   int64 // the latest time of a line; "never" if there is none
}

// accepts reports whether a line with this time can be the next one of the
// part.
func (p *part) accepts(at int64) bool { return p.newest <= at+maxLogDisorder }

// A section is a series of consecutive lines of a file.
type section struct {
	begin, end int64    // offsets in the file, in bytes
	line       int      // the number of lines before it
	columns    *columns // the columns of the W3C format, from the lines before the section
}

// maxParts is the maximum number of parts. If there are so many and none
// accepts a line, the line is added to the same part as the previous line.
const maxParts = 64

// choosePart returns the index of the part for a line with the given time, and
// may add a part. current is the index of the part of the previous line. Of the
// parts that accept the line, choosePart returns the one with the latest time.
func choosePart(parts []part, current int, at int64) ([]part, int) {
	newest := parts[current].newest
	if newest == never {
		return parts, current
	}
	isNear := at >= newest-maxLogDisorder && at <= newest+maxLogDisorder
	if isNear {
		return parts, current
	}
	best := -1
	if parts[current].accepts(at) {
		best = current // preferred if several parts have the same time
	}
	for i := range parts {
		if !parts[i].accepts(at) {
			continue
		}
		if best < 0 || parts[i].newest > parts[best].newest {
			best = i
		}
	}
	if best >= 0 {
		return parts, best
	}
	if len(parts) == maxParts {
		return parts, current
	}
	return append(parts, part{newest: never}), len(parts)
}

// divide reads a log and returns its parts. It also determines when the log
// begins, whether a robot requests robots.txt in it, and which addresses
// represent many clients. If the log cannot be read to its end, the parts cover
// only the lines before the error. If no line is in a known format, unknown is
// the first line.
func (a *Auditor) divide(ctx context.Context, in *bufio.Reader) (parts []part, unknown []byte) {
	parts = []part{{newest: never, sections: make([]section, 1)}}
	current := 0
	lines := lineReader{in: in}
	p := parser{format: a.Format, pool: &a.pool, surveys: true}
	isKnown := false
	for begin := int64(0); ; begin = lines.offset {
		line, err := lines.next()
		isEnd := err != nil && !errors.Is(err, errLong)
		if isEnd || lines.number%1024 == 0 && ctx.Err() != nil {
			break
		}
		columns := p.columns
		if at, ok := a.survey(&p, line, lines.number); ok {
			isKnown = true
			a.noteLine(at)
			previous := current
			parts, current = choosePart(parts, current, at)
			if current != previous {
				parts[current].sections = append(parts[current].sections, section{
					begin:   begin,
					end:     begin,
					line:    lines.number - 1,
					columns: columns,
				})
			}
			parts[current].newest = max(parts[current].newest, at)
		} else if len(unknown) == 0 {
			unknown = bytes.Clone(bytes.TrimSpace(line[:min(len(line), maxURL)]))
		}
		sections := parts[current].sections
		sections[len(sections)-1].end = lines.offset
	}
	if isKnown || len(unknown) == 0 {
		return parts, nil
	}
	return parts, unknown
}

// survey reads a line for divide, and returns the time of the line. ok is false
// if the line has no time.
func (a *Auditor) survey(p *parser, line []byte, number int) (at int64, ok bool) {
	if len(line) == 0 {
		return 0, false
	}
	at, request, isQuick := p.glance(line)
	if isQuick {
		mayBeFile := !a.hasFetch && bytes.Contains(request, []byte("/robots.txt"))
		if !mayBeFile && !isSurveyed(number) {
			return at, at != never
		}
	}
	e, err := p.line(line)
	if err != nil || !e.isRequest {
		return at, at != never
	}
	isFile := false
	if e.event != nil {
		isFile = !a.hasFetch && isRobots(e.event.url)
		a.pool.put(e.event)
	}
	if isFile && !a.isIgnored(e.robot) {
		a.hasFetch = true
	}
	if isFile || isSurveyed(number) {
		a.peers.add(e.identity, e.robot)
	}
	return e.at, true
}

// countAgent counts a request without a User-Agent.
func (a *Auditor) countAgent(at int64, hasAgent bool) {
	if !hasAgent && a.counts(at) {
		a.unnamed++
	}
}
