package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

var batchCommand = command{
	name:  "batch",
	usage: "[flags] [FILE]",
	short: "answer many questions: JSON lines in, verdicts out",
	help: `
Batch reads questions from FILE or standard input, a JSON object a line:
  robots    the text of a robots.txt
  file      or the path of one, which is read once
  agent     the robot's product token, or "*"
  url       a URL or "/path?query"

and writes the verdicts in the same order, a JSON object a line (-json is always on):
  url       as asked
  agent     as asked
` + verdictHelp + `

A line that cannot be answered gives an object with input_line, its number, and error, and the others go on. Memory is
bounded: -cache is for files that were read, and a line has at most 16 MiB.

  {"robots":"User-agent: *\nDisallow: /a\n","agent":"ExampleBot","url":"https://example.com/a/b"}
  {"url":"https://example.com/a/b","agent":"ExampleBot","allowed":false,"reason":"rule","rule":"Disallow: /a","line":2}

Exit status: 0 all are allowed, 1 one is disallowed, 2 a line could not be answered.`,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		cache := flags.Int("cache", 256, "`MiB` of robots.txt files to keep after reading them; the process may take twice that")
		flags.Bool("json", true, "always on")
		return func(ctx context.Context, e env, args []string) (int, error) {
			switch {
			case len(args) > 1:
				return 0, usagef("name one FILE, or none for standard input")
			case *cache < 1:
				return 0, usagef("-cache %d: write 1 MiB or more", *cache)
			}
			in := io.NopCloser(e.stdin)
			if len(args) == 1 {
				var err error
				if in, err = openFile(e, args[0]); err != nil {
					return 0, err
				}
			}
			defer in.Close()
			b := batch{cache: newRulesCache(int64(*cache) << 20)}
			return b.run(ctx, in, e.stdout)
		}
	},
}

const (
	blockSize = 64 << 10 // octets read at a time, unless a line is longer
	maxLine   = 16 << 20 // octets of a line
)

// A batch answers blocks of lines at the same time, and writes the answers in order.
type batch struct {
	cache      *rulesCache
	disallowed atomic.Bool
	failed     atomic.Int64 // lines
}

// A block is some whole lines, and their answers.
type block struct {
	first   int // the number of its first line
	in, out []byte
	done    chan struct{} // closed when out is complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

func (b *batch) run(ctx context.Context, in io.Reader, out *bufio.Writer) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	work := make(chan *block)
	ordered := make(chan *block, 2*workers) // bounds what is read ahead
	var readErr error
	go func() {
		defer close(ordered)
		defer close(work)
		readErr = readBlocks(in, func(block *block) bool {
			select {
			case ordered <- block:
			case <-ctx.Done():
				return false
			}
			select {
			case work <- block:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	for range workers {
		go func() {
			for block := range work {
				b.answer(block)
				close(block.done)
			}
		}()
	}
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
		if out.Flush() != nil { // nobody waits for an answer that is known
			return exitError, nil // the writer keeps the error, and run reports it
		}
		blocks.Put(next)
	}
}

func (b *batch) status(err error) (int, error) {
	switch n := int(b.failed.Load()); {
	case err != nil:
		return 0, fmt.Errorf("read the questions: %w", err)
	case n > 0:
		return 0, fmt.Errorf("%s could not be answered", count(n, "line"))
	case b.disallowed.Load():
		return exitNo, nil
	}
	return exitOK, nil
}

// readBlocks gives away what was read, up to the last line end, as soon as it is there: no answer waits for a later
// question. It ends early when give returns false.
func readBlocks(in io.Reader, give func(*block) bool) error {
	buf := make([]byte, 0, blockSize) // begins with a line that was read in part
	for number := 1; ; {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		read := buf[len(buf) : len(buf)+n]
		if len(buf) == maxLine { // the rest of a line that is too long is dropped
			end := bytes.IndexByte(read, '\n')
			if end < 0 {
				end = len(read)
			}
			read = read[end:]
		}
		buf = append(buf, read...)
		if err == io.EOF && len(buf) > 0 && buf[len(buf)-1] != '\n' {
			buf = append(buf, '\n')
		}
		if end := bytes.LastIndexByte(buf, '\n') + 1; end > 0 {
			b := blocks.Get().(*block)
			b.first, b.in, b.done = number, append(b.in[:0], buf[:end]...), make(chan struct{})
			number += bytes.Count(buf[:end], []byte("\n"))
			if !give(b) {
				return nil
			}
			buf = append(buf[:0], buf[end:]...)
		}
		buf = buf[:min(len(buf), maxLine)]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// answer answers a block's lines.
func (b *batch) answer(block *block) {
	block.out = block.out[:0]
	number := block.first
	for line := range bytes.Lines(block.in) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			allowed, err := false, errTooLong
			if len(line) < maxLine-1 {
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

var errTooLong = fmt.Errorf("the line is longer than %d octets", maxLine)

// answerLine appends the answer to a question to out, or returns why there is none.
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
	rules, err := b.cache.rules(&q)
	if err != nil {
		return out, false, err
	}
	v := verdictOf(rules.Match(string(q.url)))
	out = append(append(out, `{"url":`...), q.rawURL...)
	out = append(append(out, `,"agent":`...), q.rawAgent...)
	out = strconv.AppendBool(append(out, `,"allowed":`...), v.Allowed)
	out = append(append(append(out, `,"reason":"`...), v.Reason.String()...), '"')
	if v.Line > 0 {
		out = appendString(append(out, `,"rule":`...), v.Rule)
		out = strconv.AppendInt(append(out, `,"line":`...), int64(v.Line), 10)
	}
	return append(out, "}\n"...), v.Allowed, nil
}

// appendFailure appends what stands in place of an answer.
func appendFailure(out []byte, number int, err error) []byte {
	out = strconv.AppendInt(append(out, `{"input_line":`...), int64(number), 10)
	out = appendString(append(out, `,"error":`...), err.Error())
	return append(out, "}\n"...)
}

// appendString appends a JSON string.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always has a form
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}
