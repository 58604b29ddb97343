package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
)

// A batch answers blocks of lines in parallel, and writes the answers in order.
type batch struct {
	cache      *rulesCache
	maxLine    int // how many bytes a line has at most, without its newline
	disallowed atomic.Bool
	doubtful   atomic.Bool
	failed     atomic.Int64 // how many lines could not be answered
}

func (b *batch) run(ctx context.Context, in io.Reader, out *bufio.Writer) (command.Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ordered := make(chan *block, 2*runtime.GOMAXPROCS(0)) // its capacity limits how many blocks are read but not yet written
	var readErr error
	go func() {
		defer close(ordered)
		readErr = readBlocks(in, b.maxLine, func(block *block) bool {
			select {
			case ordered <- block:
			case <-ctx.Done():
				return false
			}
			go func() {
				b.answer(block)
				close(block.done)
			}()
			return true
		})
	}()
	for {
		var next *block
		select {
		case block, ok := <-ordered:
			if !ok {
				return b.status(readErr)
			}
			next = block
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		select {
		case <-next.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		out.Write(next.out)
		if out.Flush() != nil { // flush each block, because the caller may wait for an answer
			return command.CannotTell, nil // the writer keeps the error, and package main reports it
		}
		blocks.Put(next)
	}
}

func (b *batch) status(err error) (command.Status, error) {
	switch n := int(b.failed.Load()); {
	case err != nil:
		return 0, fmt.Errorf("read the questions: %w", err)
	case n > 0:
		return 0, fmt.Errorf("%s could not be answered", command.Count(n, "line"))
	case b.doubtful.Load():
		return command.Doubtful, nil
	case b.disallowed.Load():
		return command.No, nil
	}
	return command.OK, nil
}

func (b *batch) answer(block *block) {
	block.out = block.out[:0]
	number := block.first
	for line := range bytes.Lines(block.in) {
		isWhole := len(bytes.TrimSuffix(line, []byte("\n"))) <= b.maxLine
		if line = bytes.TrimSpace(line); len(line) > 0 {
			allowed, err := false, error(tooLong(b.maxLine))
			if isWhole {
				block.out, allowed, err = b.answerLine(block.out, line)
			}
			switch {
			case err != nil:
				b.failed.Add(1)
				block.out = appendFailure(block.out, number, err)
			case !allowed:
				b.disallowed.Store(true)
			}
		}
		number++
	}
}

// A tooLong is the error for a line that is too long. Its value is the greatest
// allowed number of bytes.
type tooLong int

func (n tooLong) Error() string { return fmt.Sprintf("the line is longer than %d bytes", int(n)) }

func (b *batch) answerLine(out, line []byte) (_ []byte, allowed bool, err error) {
	if !utf8.Valid(line) {
		return out, false, errors.New("the line is not UTF-8")
	}
	var q question
	if !q.scan(line) {
		if q, err = decodeQuestion(line); err != nil {
			return out, false, err
		}
	}
	target := string(q.url)
	if err := command.CheckScheme(target); err != nil {
		return out, false, err
	}
	rules, doubt, err := b.cache.rules(&q)
	if err != nil {
		return out, false, err
	}
	v := robots.Judge(rules, target)
	out = append(append(out, `{"url":`...), q.rawURL...)
	out = append(append(out, `,"agent":`...), q.rawAgent...)
	out = strconv.AppendBool(append(out, `,"allowed":`...), v.Allowed)
	out = append(append(append(out, `,"reason":"`...), v.Reason.String()...), '"')
	if v.Line > 0 {
		out = appendString(append(out, `,"rule":`...), v.Rule)
		out = strconv.AppendInt(append(out, `,"line":`...), int64(v.Line), 10)
	}
	if v.Resolved != "" {
		out = appendString(append(out, `,"resolved":`...), v.Resolved)
	}
	if doubt != "" {
		b.doubtful.Store(true)
		out = appendString(append(out, `,"doubt":`...), doubt)
	}
	return append(out, "}\n"...), v.Allowed, nil
}

// appendFailure appends the object for a line that cannot be answered.
func appendFailure(out []byte, number int, err error) []byte {
	out = strconv.AppendInt(append(out, `{"input_line":`...), int64(number), 10)
	out = appendString(append(out, `,"error":`...), err.Error())
	return append(out, "}\n"...)
}
