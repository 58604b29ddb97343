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
		o := declare(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if err := o.check(args); err != nil {
				return 0, err
			}
			if *o.urls != "" {
				p := plainURLs{
					list:      *o.urls,
					file:      args[0],
					userAgent: *o.userAgent,
					agents:    *o.agents,
				}
				return p.run(ctx, e)
			}
			name := "-"
			if len(args) > 0 {
				name = args[0]
			}
			in, err := e.Open(name)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			b := batch{cache: newRulesCache(*o.cache << 20), maxLine: 16 << 20}
			return b.run(ctx, in, e.Stdout)
		}
	},
}

// options are the values of the flags.
type options struct {
	cache     *int // MiB
	urls      *string
	agents    *[]string
	userAgent *string
}

// declare defines the flags of the command. It accepts -json because the other
// commands do, and ignores its value: the output is always JSON.
func declare(flags *flag.FlagSet) options {
	flags.Bool("json", true, "has no effect: the output is always JSON")
	return options{
		cache: flags.Int("cache", 256,
			"`MiB` of robots.txt files to keep after reading them; the process may take twice that"),
		urls: flags.String("urls", "",
			"a `file` with one URL or \"/path?query\" per line; \"-\" for standard input. "+
				"FILE is then the robots.txt, or its URL"),
		agents: robots.TokensFlag(flags,
			"with -urls: product `token` of the robot, such as ExampleBot, or \"*\"; may be repeated"),
		userAgent: robots.UserAgentFlag(flags),
	}
}

// check returns an error if the command line is wrong.
func (o options) check(args []string) error {
	if len(args) > 1 {
		return command.Usagef("specify one FILE, or none for standard input")
	}
	if *o.cache < 1 {
		return command.Usagef("-cache %d: must be at least 1 MiB", *o.cache)
	}
	if *o.urls == "" {
		if len(*o.agents) > 0 {
			return command.Usagef("-agent requires -urls; questions contain their own agents")
		}
		return nil
	}
	if len(args) == 0 || len(*o.agents) == 0 {
		return command.Usagef("-urls requires FILE, a robots.txt, and -agent, a robot")
	}
	if command.StdinTwice(args[0], *o.urls) {
		return command.Usagef("only one of FILE and -urls can be standard input")
	}
	return nil
}

// A batch answers blocks of lines in parallel, and writes the answers in order.
type batch struct {
	cache   *rulesCache
	maxLine int // in bytes, without the newline
}

func (b *batch) run(ctx context.Context, in io.Reader, out *bufio.Writer) (command.Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The capacity limits the number of blocks that are read but not written.
	ordered := make(chan *block, 2*runtime.GOMAXPROCS(0))
	var readErr error // set before ordered is closed
	go func() {
		defer close(ordered)
		readErr = b.answerBlocks(ctx, in, ordered)
	}()
	status, failures, err := write(ctx, ordered, out)
	switch {
	case err != nil:
		return command.CannotTell, nil // the writer keeps the error, and package main reports it
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case readErr != io.EOF:
		return 0, fmt.Errorf("read the questions: %w", readErr)
	case failures > 0:
		return 0, fmt.Errorf("%s could not be answered", cli.Count(failures, "line"))
	}
	return status, nil
}

// answerBlocks divides the input into blocks, sends each to ordered, and
// answers it in a goroutine. The result is the error that ended the reading,
// which is io.EOF at the end of the input.
func (b *batch) answerBlocks(ctx context.Context, in io.Reader, ordered chan<- *block) error {
	buffered := bufio.NewReaderSize(in, blockSize)
	for number := 1; ; {
		next := blocks.Get().(*block)
		next.number = number
		next.answered = make(chan struct{})
		n, err := next.read(buffered, b.maxLine)
		number += n
		select {
		case ordered <- next:
		case <-ctx.Done():
			return ctx.Err()
		}
		go b.answer(next)
		if err != nil {
			return err
		}
	}
}

// write writes the answers of the blocks, until ordered is closed or ctx is
// done. It returns the greatest status, the number of lines that could not be
// answered, and the error of out.
func write(
	ctx context.Context, ordered <-chan *block, out *bufio.Writer,
) (status command.Status, failures int, err error) {
	for {
		var next *block // nil if there are no more
		select {
		case next = <-ordered:
		case <-ctx.Done():
		}
		if next == nil {
			return status, failures, nil
		}
		<-next.answered
		status = max(status, next.status)
		failures += next.failures
		out.Write(next.out.Bytes())
		if err := out.Flush(); err != nil { // flush, because the caller may wait for an answer
			return status, failures, err
		}
		blocks.Put(next)
	}
}

// answer answers the lines of a block.
func (b *batch) answer(block *block) {
	defer close(block.answered)
	block.out.Reset()
	block.status = command.OK
	block.failures = 0
	json := cli.NewEncoder(&block.out)
	var a answer // one for all lines, because Encode takes its address
	for line := range bytes.Lines(block.lines) {
		var err error
		a, err = b.answerLine(line)
		switch {
		case err == errBlank:
		case err != nil:
			block.failures++
			json.Encode(failure{block.number, err.Error()})
		default:
			block.status = max(block.status, a.Status(a.Doubt))
			json.Encode(&a)
		}
		block.number++
	}
}

var errBlank = errors.New("the line is blank")

func (b *batch) answerLine(line []byte) (answer, error) {
	isTooLong := len(line)-1 > b.maxLine
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return answer{}, errBlank
	}
	if isTooLong {
		return answer{}, fmt.Errorf("the line is longer than %d bytes", b.maxLine)
	}
	if !utf8.Valid(line) {
		return answer{}, errors.New("the line is not valid UTF-8")
	}
	var q question
	if !q.scan(line) {
		if err := q.decode(line); err != nil {
			return answer{}, err
		}
	}
	if err := command.CheckScheme(q.url); err != nil {
		return answer{}, err
	}
	rules, err := b.cache.rulesFor(&q)
	if err != nil {
		return answer{}, err
	}
	return answer{
		URL:     q.url,
		Agent:   q.agent,
		Verdict: robots.Judge(rules.Rules, q.url),
		Doubt:   rules.doubt,
	}, nil
}

// blockSize is the minimum number of bytes of lines that are answered together,
// if that many have arrived.
const blockSize = 64 << 10

// A block is one or more complete lines and their answers.
type block struct {
	number   int // of the first line that is not yet answered, counted from 1
	lines    []byte
	out      bytes.Buffer
	status   command.Status // the greatest of its answers
	failures int            // number of lines that could not be answered
	answered chan struct{}  // closed when the answers are complete
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// read reads the complete lines that have arrived, at least one, so that no
// answer waits for a later question. It returns their number. It truncates a
// line of more than maxLine bytes to maxLine+1. Each line ends with a newline.
func (b *block) read(in *bufio.Reader, maxLine int) (n int, err error) {
	b.lines = b.lines[:0]
	for len(b.lines) < blockSize {
		begin := len(b.lines)
		err := b.readLine(in, maxLine)
		if err != nil && err != io.EOF {
			b.lines = b.lines[:begin]
			return n, err
		}
		if len(b.lines) > begin {
			n++
		}
		if err != nil || !hasLine(in) {
			return n, err
		}
	}
	return n, nil
}

// hasLine reports whether a complete line is buffered.
func hasLine(in *bufio.Reader) bool {
	buffered, _ := in.Peek(in.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// readLine appends one line. At the end of the input, the line may be empty;
// then there is no newline either.
func (b *block) readLine(in *bufio.Reader, maxLine int) error {
	begin := len(b.lines)
	for {
		part, err := in.ReadSlice('\n')
		space := maxLine + 1 - (len(b.lines) - begin)
		b.lines = append(b.lines, part[:min(len(part), space)]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if len(b.lines) > begin {
			b.lines = append(bytes.TrimSuffix(b.lines, []byte("\n")), '\n')
		}
		return err
	}
}
