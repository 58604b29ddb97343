package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// A source gives the events of a part of an input.
type source struct {
	a        *Auditor
	ctx      context.Context
	name     string
	place    int
	head     *event
	newest   int64
	file     io.ReaderAt // where sections are; nil if lines or archive is all there is
	sections []section   // those that were not read yet
	lines    *lineReader
	parser   parser
	failed   error // why the input could not be read further

	archive   *WARCReader // nil for a log
	ended     bool        // nothing more is in archive
	exchanges exchanges
	queue     []*event
}

// A section is some of the lines of a file.
type section struct {
	begin, end int64 // bytes of the file
	line       int   // how many lines are before it
}

// next returns the next event of a robot, or nil at the end of the source or of
// its context.
func (s *source) next() *event {
	if s.archive != nil {
		return s.inArchive()
	}
	for {
		line, err := s.lines.next()
		switch {
		case errors.Is(err, errLong):
			s.a.result.Lines++
			s.broken(s.lines.number, err)
			continue
		case errors.Is(err, io.EOF) && len(s.sections) > 0:
			from := s.sections[0]
			s.sections = s.sections[1:]
			s.lines.reset(io.NewSectionReader(s.file, from.begin, from.end-from.begin), from.line)
			continue
		case err != nil:
			if s.failed == nil {
				s.failed = atEnd(err)
			}
			s.end(s.lines.number + 1)
			return nil
		}
		if s.lines.number%1024 == 0 && s.ctx.Err() != nil {
			return nil
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s.a.result.Lines++
		e, isRequest, err := s.parser.line(line)
		if err != nil {
			s.broken(s.lines.number, err)
		}
		if isRequest {
			s.request(s.lines.number, s.parser.nanos)
		}
		if e != nil {
			return e
		}
	}
}

var errJump = errors.New("the time is more than 90 s before that of lines before it: not judged on order")

// request counts a request, and notices whether its place is too far from where
// it belongs.
func (s *source) request(number int, at int64) {
	if s.a.counts(at) {
		s.a.result.Requests++
	}
	if s.newest != never && at < s.newest-reach {
		s.a.result.Jumps++
		if s.a.OnBroken != nil {
			s.a.OnBroken(Broken{Input: s.name, Line: number, Err: errJump})
		}
	}
	s.newest = max(s.newest, at)
}

func (s *source) broken(number int, err error) {
	s.a.broken(Broken{Input: s.name, Line: number, Err: err})
}

// end reports why the input could not be read to its end, if it could not.
func (s *source) end(number int) {
	if s.failed != nil {
		s.broken(number, fmt.Errorf("cannot read on from here: %w", s.failed))
		s.a.result.Cut++
	}
}

func (s *source) inArchive() *event {
	each := func(e *event) {
		s.a.begins(e.at)
		s.request(s.archive.number, e.at)
		if e.robot != "" {
			s.queue = append(s.queue, e)
		}
	}
	broken := func(err error) {
		if e, ok := errors.AsType[*WARCError](err); ok {
			s.broken(e.Record, e.Err)
		}
	}
	for len(s.queue) == 0 {
		if s.ctx.Err() != nil || s.ended {
			return nil
		}
		r, err := s.archive.Next()
		switch {
		case err == nil:
			s.a.result.Lines++
			if err = s.exchanges.add(r, each); err != nil {
				broken(err)
			}
		case goesOn(err, broken):
			s.a.result.Lines++
		default:
			s.exchanges.flush(each)
			s.ended = true
			number := s.archive.number
			if s.failed = atEnd(err); !s.archive.cut {
				number++ // the error is reported for the next record
			} else if s.failed == nil {
				s.a.result.Cut++ // the error has been reported
			}
			s.end(number)
		}
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e
}
