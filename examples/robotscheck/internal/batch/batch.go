package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
)

// Command is the subcommand robotscheck batch.
var Command = command.Command{
	Name:  "batch",
	Usage: "[flags] [FILE]",
	Short: "answer many questions: JSON lines in, verdicts out",
	Setup: func(flags *flag.FlagSet) command.Action {
		cache := flags.Int("cache", 256,
			"`MiB` of robots.txt files to keep after reading them; the process may take twice that")
		flags.Bool("json", true, "always on")
		urls := flags.String("urls", "",
			"a `file` with one URL or \"/path?query\" per line; \"-\" for standard input. FILE is then the robots.txt, or its URL")
		agents := robots.TokensFlag(flags, "with -urls: product `token` of the robot, such as ExampleBot, or \"*\"; may be repeated")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(args) > 1:
				return 0, command.Usagef("specify one FILE, or none for standard input")
			case *cache < 1:
				return 0, command.Usagef("-cache %d: must be at least 1 MiB", *cache)
			case *urls == "" && len(*agents) > 0:
				return 0, command.Usagef("-agent requires -urls; questions contain their own agents")
			case *urls != "" && (len(args) == 0 || len(*agents) == 0):
				return 0, command.Usagef("-urls requires FILE, a robots.txt, and -agent, a robot")
			case *urls != "" && command.StdinTwice(args[0], *urls):
				return 0, command.Usagef("only one of FILE and -urls can be standard input")
			case *urls != "":
				return plainURLs{*urls, args[0], *userAgent, *agents}.run(ctx, e)
			}
			in, err := e.Open(append(args, "-")[0])
			if err != nil {
				return 0, err
			}
			defer in.Close()
			b := batch{cache: newRulesCache(*cache << 20), maxLine: 16 << 20}
			return b.run(ctx, in, e.Stdout)
		}
	},
}

// A batch answers blocks of lines in parallel, and writes the answers in order.
type batch struct {
	cache   *rulesCache
	maxLine int // how many bytes a line has at most, without its newline
}

func (b *batch) run(ctx context.Context, in io.Reader, out *bufio.Writer) (command.Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ordered := make(chan *block, 2*runtime.GOMAXPROCS(0)) // its capacity limits how many blocks are read but not yet written
	var readErr error                                     // set before ordered is closed
	go func() {
		defer close(ordered)
		buffered := bufio.NewReaderSize(in, blockSize)
		for number := 1; readErr == nil; {
			next := blocks.Get().(*block)
			next.number, next.answered = number, make(chan struct{})
			var n int
			n, readErr = next.read(buffered, b.maxLine)
			number += n
			select {
			case ordered <- next:
			case <-ctx.Done():
				return
			}
			go b.answer(next)
		}
	}()
	status, failed := command.OK, 0
	for {
		var next *block // nil if there are no more
		select {
		case next = <-ordered:
		case <-ctx.Done():
		}
		if next == nil {
			break
		}
		<-next.answered
		status, failed = max(status, next.status), failed+next.failed
		out.Write(next.out.Bytes())
		if out.Flush() != nil { // flush each block, because the caller may wait for an answer
			return command.CannotTell, nil // the writer keeps the error, and package main reports it
		}
		blocks.Put(next)
	}
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case readErr != io.EOF:
		return 0, fmt.Errorf("read the questions: %w", readErr)
	case failed > 0:
		return 0, fmt.Errorf("%s could not be answered", cli.Count(failed, "line"))
	}
	return status, nil
}

func (b *batch) answer(block *block) {
	defer close(block.answered)
	block.out.Reset()
	block.status, block.failed = command.OK, 0
	json := cli.NewEncoder(&block.out)
	var a answer // one for all lines, because Encode takes its address
	var err error
	for line := range bytes.Lines(block.lines) {
		switch a, err = b.answerLine(line); {
		case err == errBlank:
		case err != nil:
			block.failed++
			json.Encode(failure{block.number, err.Error()})
		default:
			block.status = max(block.status, a.Status(a.Doubt))
			json.Encode(&a)
		}
		block.number++
	}
}

var errBlank = errors.New("the line is blank")

func (b *batch) answerLine(line []byte) (a answer, err error) {
	isLong := len(line)-1 > b.maxLine
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return a, errBlank
	case isLong:
		return a, fmt.Errorf("the line is longer than %d bytes", b.maxLine)
	case !utf8.Valid(line):
		return a, errors.New("the line is not UTF-8")
	}
	var q question
	if !q.scan(line) {
		if err := q.decode(line); err != nil {
			return a, err
		}
	}
	if err := command.CheckScheme(q.url); err != nil {
		return a, err
	}
	rules, err := b.cache.rulesFor(&q)
	if err != nil {
		return a, err
	}
	return answer{q.url, q.agent, robots.Judge(rules.Rules, q.url), rules.doubt}, nil
}

// blockSize is how many bytes of lines are answered together at least, if so
// much input is at hand.
const blockSize = 64 << 10

// A block is one or more complete lines and their answers.
type block struct {
	number   int // of the first line that is not yet answered, counted from 1
	lines    []byte
	out      bytes.Buffer
	status   command.Status // the greatest of its answers
	failed   int            // how many lines could not be answered
	answered chan struct{}  // closed when the answers are complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// read reads complete lines, as many as are at hand, and returns their number.
// So no answer waits for a later question. A line of more than maxLine bytes is
// cut behind its first maxLine+1. Each line ends with a newline.
func (b *block) read(in *bufio.Reader, maxLine int) (n int, err error) {
	b.lines = b.lines[:0]
	begin := 0 // of the last line
	for {
		part, err := in.ReadSlice('\n')
		b.lines = append(b.lines, part[:min(len(part), maxLine+1-(len(b.lines)-begin))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			b.lines = b.lines[:begin]
			return n, err
		}
		if len(b.lines) > begin {
			n++
			b.lines = append(bytes.TrimSuffix(b.lines, []byte("\n")), '\n')
		}
		begin = len(b.lines)
		buffered, _ := in.Peek(in.Buffered())
		if err != nil || begin >= blockSize || bytes.IndexByte(buffered, '\n') < 0 {
			return n, err
		}
	}
}
