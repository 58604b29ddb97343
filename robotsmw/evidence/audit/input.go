package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
)

// An Input is an access log or a WARC file. Read recognizes a WARC file by its
// first bytes. Each line of a log is in the combined format of nginx and
// Apache, or in Caddy's JSON. Logs and WARC files may be compressed with gzip.
type Input struct {
	Name   string
	Reader io.Reader
}

// Read judges the requests of all inputs together, in the order of time. So the
// parts of a rotated log may come in any order. Of each input, Read keeps about
// 10 MiB in memory at most, even if the input is much longer. If Read cannot
// read a line or a record, it counts the problem in Result.Broken and passes it
// to OnBroken. Read returns an error only if ctx ends.
func (a *Auditor) Read(ctx context.Context, inputs ...Input) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var heads sources
	for i, in := range inputs {
		s := &source{name: in.Name, place: i, batches: make(chan *batch, 4)}
		go s.run(ctx, in.Reader)
		heads = append(heads, s)
	}
	// The heap needs the first event of each input.
	for i := 0; i < len(heads); {
		ok, err := heads[i].fill(ctx, a)
		switch {
		case err != nil:
			return err
		case ok:
			i++
		default:
			heads[i] = heads[len(heads)-1]
			heads = heads[:len(heads)-1]
		}
	}
	heap.Init(&heads)
	for len(heads) > 0 {
		s := heads[0]
		e := &s.batch.events[s.at]
		if e.epoch != 0 { // the time in this input has jumped back
			a.jump()
		}
		a.add(e)
		s.at++
		ok, err := true, error(nil)
		if s.at == len(s.batch.events) {
			ok, err = s.fill(ctx, a)
		}
		switch {
		case err != nil:
			return err
		case !ok:
			heap.Pop(&heads)
		case len(heads) > 1:
			heap.Fix(&heads, 0)
		}
	}
	return nil
}

type source struct {
	name    string
	place   int
	batches chan *batch
	batch   *batch
	at      int // the index of the next event in batch.events
}

// A batch is a parsed part of an input.
type batch struct {
	events   []event // requests of robots
	requests int     // of robots and browsers
	broken   []Broken
	cut      bool // the rest of the input could not be read
	bytes    int
}

const batchBytes = 256 << 10

// fill receives batches until a batch has an event. It returns false at the end
// of the input or when ctx ends.
func (s *source) fill(ctx context.Context, a *Auditor) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case b, ok := <-s.batches:
			if !ok {
				return false, ctx.Err()
			}
			s.batch, s.at = b, 0
			a.result.Requests += b.requests
			for _, broken := range b.broken {
				broken.Input = s.name
				if broken.jump {
					a.result.Jumps++
					if a.OnBroken != nil {
						a.OnBroken(broken)
					}
					continue
				}
				a.broken(broken)
			}
			if b.cut {
				a.result.Cut++
			}
			if len(b.events) > 0 {
				return true, nil
			}
		}
	}
}

// sources is a heap, ordered by the time of the next event.
type sources []*source

func (s sources) Len() int { return len(s) }
func (s sources) Less(i, j int) bool {
	t, u := s[i].batch.events[s[i].at].time(), s[j].batch.events[s[j].at].time()
	return t < u || t == u && s[i].place < s[j].place
}
func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(any)     {}
func (s *sources) Pop() any {
	last := len(*s) - 1
	(*s)[last] = nil
	*s = (*s)[:last]
	return nil
}

// A feed parses an input and sends it as batches.
type feed struct {
	ctx     context.Context
	to      chan<- *batch
	batch   *batch
	newest  int64
	jumped  bool // the time has jumped back since the previous event
	stopped bool
}

func (s *source) run(ctx context.Context, r io.Reader) {
	defer close(s.batches)
	f := &feed{ctx: ctx, to: s.batches, batch: new(batch), newest: never}
	in := bufio.NewReaderSize(r, 64<<10)
	if isGzip(in) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			f.end(1, err)
			return
		}
		in = bufio.NewReaderSize(unpacked, 64<<10)
	}
	if isWARC(in) {
		f.warc(in)
	} else {
		f.lines(in)
	}
}

var (
	errJump     = errors.New("the time is more than 10 s before that of lines before it: gaps are not audited across it")
	errUnsorted = errors.New("the time is more than 10 s before that of records before it")
)

// The method "noted" counts the request in a line, and notices whether the time
// has jumped back.
func (f *feed) noted(number int, at int64) {
	f.batch.requests++
	if f.newest != never && at < f.newest-reach {
		f.batch.broken = append(f.batch.broken, Broken{Line: number, Err: errJump, jump: true})
		f.jumped = true
		f.newest = at
		return
	}
	f.newest = max(f.newest, at)
}

func (f *feed) event(e *event) {
	if f.jumped {
		e.epoch, f.jumped = 1, false
	}
	f.batch.events = append(f.batch.events, *e)
	f.batch.bytes += e.size()
}

func (f *feed) broken(number int, err error) {
	f.batch.broken = append(f.batch.broken, Broken{Line: number, Err: err})
}

// The method "dated" notices whether a record's date jumps back. Such a jump
// begins no epoch. It means that the records are out of order, not that the
// clock was set back.
func (f *feed) dated(r *WARCRecord) {
	at := r.Date.UnixNano()
	if f.newest != never && at < f.newest-reach {
		f.batch.broken = append(f.batch.broken, Broken{Line: r.number, Err: errUnsorted, jump: true})
	}
	f.newest = max(f.newest, at)
}

// send sends the batch if it is large enough or the last one. The first
// argument is how many bytes were read since the last call. The result is false
// if ctx has ended.
func (f *feed) send(read int, last bool) bool {
	if f.batch.bytes += read; f.batch.bytes < batchBytes && !last {
		return !f.stopped
	}
	select {
	case f.to <- f.batch:
	case <-f.ctx.Done():
		f.stopped = true
	}
	f.batch = &batch{events: make([]event, 0, len(f.batch.events)*5/4)}
	return !f.stopped
}

// end sends the last batch. If err is not the regular end of an input, this
// method first adds err to the batch.
func (f *feed) end(number int, err error) {
	if err = atEnd(err); err != nil {
		f.broken(number, fmt.Errorf("cannot read on from here: %w", err))
		f.batch.cut = true
	}
	f.send(0, true)
}

func (f *feed) lines(in io.Reader) {
	lines := newLineReader(in)
	var p parser
	var e event
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) {
			f.end(lines.number+1, err)
			return
		}
		switch {
		case err != nil:
			f.broken(lines.number, err)
		case len(bytes.TrimSpace(line)) == 0:
		default:
			f.line(&p, lines.number, line, &e)
		}
		if !f.send(len(line), false) {
			return
		}
	}
}

func (f *feed) line(p *parser, number int, line []byte, e *event) {
	isRequest, judged := true, false
	var err error
	if line[0] == '{' {
		isRequest, judged, err = p.caddy(line, e)
	} else {
		judged, err = p.combined(line, e)
	}
	switch {
	case err != nil:
		f.broken(number, err)
	case isRequest:
		f.noted(number, e.time())
		if judged {
			f.event(e)
		}
	}
}

func (f *feed) warc(in *bufio.Reader) {
	w, err := newWARCReader(in)
	if err != nil {
		f.end(1, err)
		return
	}
	var x exchanges
	each := func(e *event) {
		f.batch.requests++
		if e.robot != "" {
			f.event(e)
		}
	}
	broken := func(err error) {
		if e, ok := errors.AsType[*WARCError](err); ok {
			f.broken(e.Record, e.Err)
		}
	}
	for {
		r, err := w.Next()
		switch {
		case err == nil:
			if err = x.add(r, each); err != nil {
				broken(err)
			} else if r.kind == "request" {
				f.dated(r)
			}
		case !goesOn(err, broken):
			x.flush(each)
			f.batch.cut = w.cut
			number := w.number
			if !w.cut {
				number++ // the error is reported for the next record
			}
			f.end(number, err)
			return
		}
		if !f.send(64, false) {
			return
		}
	}
}
