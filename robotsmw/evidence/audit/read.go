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
// In Caddy's log, a request starts at its "ts" minus its "duration". In the
// combined format, the start is known if $msec and $request_time follow. The
// dates in a WARC file are starts. A robot may have sent a request up to a
// second before it arrived, so a gap is proved by a series of requests: more
// than the Crawl-delay allows in their time and a second. Otherwise, the
// combined format contains only the second in which a request ended. A request
// may then have begun up to a minute before, but not before the robot's first
// fetch of robots.txt from its address.
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
	a.begin()
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
	// Only now is it known when the first line was, and whether any robot
	// requests robots.txt.
	for e := range merged(parts) {
		a.add(e)
	}
	return ctx.Err()
}

// merged returns the events of all parts in the order of time, if each part is
// in order.
func merged(parts []iter.Seq[*event]) iter.Seq[*event] {
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

// An opener makes the parts of an input.
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

func (o *opener) open(r io.Reader) ([]iter.Seq[*event], error) {
	file, size := fileOf(r)
	whole := func() (*bufio.Reader, bool, error) {
		if file != nil {
			r = io.NewSectionReader(file, 0, size)
		}
		return unzipped(bufio.NewReaderSize(r, 64<<10))
	}
	in, zipped, failed := whole()
	if failed != nil {
		return []iter.Seq[*event]{func(func(*event) bool) { o.end(1, failed) }}, nil
	}
	if begins(in, "WARC/") {
		return []iter.Seq[*event]{o.archive(&warcReader{in: in})}, nil
	}
	var err error
	if file == nil {
		if file, size, failed, err = o.copy(in); err != nil {
			return nil, err
		}
		zipped = false
		in, _, _ = whole()
	}
	parts, unknown := o.a.divide(o.ctx, in)
	if unknown != nil && o.ctx.Err() == nil {
		return nil, &FormatError{Input: o.name, Format: o.a.Format, Line: firstLine(unknown)}
	}
	if in, _, err = whole(); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return []iter.Seq[*event]{o.log(in, nil, nil, failed)}, nil
	}
	if zipped {
		if file, _, failed, err = o.copy(in); err != nil {
			return nil, err
		}
	}
	var all []iter.Seq[*event]
	for _, p := range parts {
		all = append(all, o.log(bufio.NewReaderSize(bytes.NewReader(nil), 64<<10), file, p.sections, failed))
		failed = nil // it is reported once
	}
	return all, nil
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

// copy copies a log into a temporary file. failed is why the log could not be
// read to its end.
func (o *opener) copy(in io.Reader) (file *os.File, size int64, failed, err error) {
	if file, err = os.CreateTemp("", "audit-*.log"); err != nil {
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
	return file, size, atEnd(failed), nil
}

// log returns the events of robots in a part of a log: in what is left of in,
// and then in sections of a file. failed is why the log could not be read to
// its end, or nil.
func (o *opener) log(in *bufio.Reader, file io.ReaderAt, sections []section, failed error) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		lines, newest := lineReader{in: in}, int64(never)
		p := parser{format: o.a.Format, pool: &o.a.pool}
		for {
			line, err := lines.next()
			switch {
			case errors.Is(err, errLong):
				o.a.lines++
				o.a.broken(o.name, lines.number, err)
				continue
			case errors.Is(err, io.EOF) && len(sections) > 0:
				in.Reset(io.NewSectionReader(file, sections[0].begin, sections[0].end-sections[0].begin))
				lines.number, p.columns = sections[0].line, sections[0].columns
				sections = sections[1:]
				continue
			case err != nil:
				o.end(lines.number+1, cmp.Or(failed, atEnd(err)))
				return
			case lines.number%1024 == 0 && o.ctx.Err() != nil:
				return
			case len(bytes.TrimSpace(line)) == 0:
				continue
			}
			o.a.lines++
			e, err := p.line(line)
			if err != nil {
				o.a.broken(o.name, lines.number, err)
			}
			if e.isRequest {
				newest = o.request(lines.number, e.at, newest)
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
		newest, goesOn := int64(never), true
		x := exchanges{each: func(e *event) {
			o.a.begins(e.at)
			newest = o.request(w.number, e.at, newest)
			o.a.countAgent(e.at, e.hasAgent)
			goesOn = goesOn && (e.robot == "" || yield(e))
		}}
		for goesOn && o.ctx.Err() == nil {
			r, err := w.next()
			if err != nil {
				for _, h := range x.pending {
					x.emit(h)
				}
				number, failed := w.number, atEnd(err)
				if !w.cut {
					number++ // it is the next record that cannot be read
				} else if failed == nil {
					o.a.total.count("cut", 1) // the error has been reported
				}
				o.end(number, failed)
				return
			}
			o.a.lines++
			if r.err == nil {
				r.err = x.add(r)
			}
			if r.err != nil {
				o.a.broken(o.name, r.number, r.err)
			}
		}
	}
}

// end reports why the input could not be read to its end, if it could not.
func (o *opener) end(number int, failed error) {
	if failed != nil {
		o.a.broken(o.name, number, fmt.Errorf("the rest cannot be read: %w", failed))
		o.a.total.count("cut", 1)
	}
}

var errNoFormat = errors.New("unknown format")

var errJump = errors.New("the time is more than 90 s before that of earlier lines, so gaps are not checked")

// request counts a request, and notices whether its place is too far from where
// it belongs. newest is the latest time of the requests before it; the result
// is that with this one.
func (o *opener) request(number int, at, newest int64) int64 {
	if o.a.counts(at) {
		o.a.total.Requests++
	}
	if newest != never && at < newest-reach {
		o.a.total.count("jumps", 1)
		if o.a.OnBroken != nil {
			o.a.OnBroken(o.name, number, errJump)
		}
	}
	return max(newest, at)
}

// A log is in order, but for lines up to 90 s from their place. Where time goes
// back by more, another log goes on: that of another front end, which was put
// behind the first one, or the buffer of another worker. So a log is read once
// to divide it into parts that are each in order.
type part struct {
	sections []section
	newest   int64
}

// A section is some of the lines of a file.
type section struct {
	begin, end int64    // bytes of the file
	line       int      // how many lines are before it
	columns    *columns // of the W3C format, from lines before it
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
// begins, whether a robot requests robots.txt in it, and which addresses stand
// for many clients. If the log cannot be read to its end, the parts are those
// of what can be read. unknown is the first line, if no line could be read.
func (a *Auditor) divide(ctx context.Context, in *bufio.Reader) (parts []part, unknown []byte) {
	parts, now := []part{{newest: never, sections: make([]section, 1)}}, 0
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
			a.begins(at)
			before := now
			if parts, now = partOf(parts, now, at); now != before {
				parts[now].sections = append(parts[now].sections, section{begin, begin, lines.number - 1, columns})
			}
			parts[now].newest = max(parts[now].newest, at)
		} else if unknown == nil {
			unknown = bytes.Clone(bytes.TrimSpace(line[:min(len(line), longestURL)]))
			if len(unknown) == 0 {
				unknown = nil
			}
		}
		sections := parts[now].sections
		sections[len(sections)-1].end = lines.offset
	}
	if isKnown {
		unknown = nil
	}
	return parts, unknown
}

// survey reads a line for divide. It returns the time of the line, if the line
// has one.
func (a *Auditor) survey(p *parser, line []byte, number int) (at int64, ok bool) {
	if len(line) == 0 {
		return 0, false
	}
	at, request, isQuick := p.glance(line)
	if isQuick {
		mayBeFile := !a.asked && bytes.Contains(request, []byte("/robots.txt"))
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
		isFile = !a.asked && isRobots(e.event.url)
		a.pool.put(e.event)
	}
	if isFile && !a.isIgnored(e.robot) {
		a.asked = true
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
