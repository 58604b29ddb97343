package worker

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/goodbots/courtesy/examples/internal/weburl"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// Settings are the values of the flags of a command.
type Settings struct {
	Agent       string
	Concurrency int           // how many pages a worker processes at a time
	Workers     int           // how many parts the queue has
	Part        int           // this worker's part
	Delay       time.Duration // the minimum interval between two requests to a host
	Wait        time.Duration // how long a page may wait in the worker
	StartDelay  time.Duration // how long a worker waits before its first request
	Retry       Retry         // when a page is retried after a 5xx response

	hasParts bool // the queue has parts
}

// Flags defines the flags that the commands have in common. wait is the default
// of Wait. If parts is true, Flags also defines the flags of a queue that has
// parts.
func (s *Settings) Flags(parts bool, wait time.Duration) {
	flag.StringVar(&s.Agent, "user-agent", "ExampleBot/1.0 (+https://example.com/bot)",
		"the `name` of your crawler and the URL of a page about it")
	flag.IntVar(&s.Concurrency, "at-once", 100, "maximum number of pages that a worker processes at a time")
	flag.DurationVar(&s.Delay, "delay", politeness.DefaultDelay, "the minimum time between two requests to a host")
	flag.DurationVar(&s.Wait, "wait", wait, "how long a page may wait in the worker; a negative value means not at all")
	flag.IntVar(&s.Retry.Failures, "failures", 8, "number of 5xx responses for a page after which the page is dropped")
	flag.DurationVar(&s.Retry.Wait, "retry", time.Minute,
		"how long to wait before a page is retried after the first 5xx response; "+
			"the wait doubles after each further 5xx response, up to an hour")
	s.hasParts = parts
	if parts {
		flag.IntVar(&s.Workers, "workers", 3, "number of workers; each fetches the hosts of its part of the queue")
		flag.IntVar(&s.Part, "part", 0, "the part that this worker fetches, counted from 0")
		flag.DurationVar(&s.StartDelay, "start-delay", 10*time.Second,
			"how long to wait before the first request, "+
				"because the previous worker of this part may just have sent one")
	}
}

// Limiter returns a Limiter with the settings of the flags. If fleet is nil,
// the Limiter does not share its pace.
func (s *Settings) Limiter(fleet politeness.Fleet) *politeness.Limiter {
	return &politeness.Limiter{Delay: s.Delay, MaxWait: s.Wait, Fleet: fleet}
}

// check returns an error if a flag has an invalid value. It does not connect to
// a server.
func (s *Settings) check() error {
	switch {
	case s.Concurrency < 1:
		return fmt.Errorf("-at-once %d: must be a positive number", s.Concurrency)
	case s.Delay <= 0:
		return fmt.Errorf("-delay %v: must be a positive duration such as 2s", s.Delay)
	case s.Retry.Failures < 1:
		return fmt.Errorf("-failures %d: must be a positive number", s.Retry.Failures)
	case s.Retry.Wait <= 0:
		return fmt.Errorf("-retry %v: must be a positive duration such as 1m", s.Retry.Wait)
	case s.StartDelay < 0:
		return fmt.Errorf("-start-delay %v: must be a positive duration such as 10s, or 0 for no delay", s.StartDelay)
	}
	if err := s.checkParts(); err != nil {
		return err
	}
	if err := s.Limiter(nil).Validate(); err != nil {
		return err
	}
	if _, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: s.Agent}); err != nil {
		return fmt.Errorf("-user-agent %q: %w", s.Agent, err)
	}
	return nil
}

// checkParts checks the flags of a queue that has parts.
func (s *Settings) checkParts() error {
	switch {
	case !s.hasParts:
		return nil
	case s.Workers < 1:
		return fmt.Errorf("-workers %d: must be a positive number", s.Workers)
	case s.Part < 0, s.Part >= s.Workers:
		return fmt.Errorf("-part %d: must be 0 to %d for %d workers", s.Part, s.Workers-1, s.Workers)
	}
	return nil
}

// Start returns a new worker after s.StartDelay.
func (s *Settings) Start(ctx context.Context, opts robotsmw.Options) (*Worker, error) {
	opts.UserAgent = s.Agent
	w, err := New(opts, s.Retry)
	if err != nil {
		return nil, err
	}
	if s.StartDelay > 0 {
		fmt.Printf("the first request is sent after %v (see -start-delay)\n", s.StartDelay)
	}
	select {
	case <-ctx.Done():
	case <-time.After(s.StartDelay):
	}
	return w, nil
}

// Main parses the command line, runs a command, and exits. If the first
// argument is "put", Main runs put with the URLs in the other arguments or, if
// there are none, in standard input. If it is "work", Main runs work and prints
// what work returns. SIGINT and SIGTERM end the context. The exit status is 1
// after an error, and 2 if the command line is wrong.
func (s *Settings) Main(
	put func(context.Context, []string) error,
	work func(context.Context) (fmt.Stringer, error),
) {
	flag.Parse()
	if err := s.check(); err != nil {
		exitUsage(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case flag.Arg(0) == "put":
		err = runPut(ctx, put)
	case flag.Arg(0) == "work" && flag.NArg() == 1: // "work -part 1" is an error: its flag would have no effect
		err = runWork(ctx, work)
	default:
		exitUsage(errors.New(`specify "put URL..." or "work" after the flags`))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runPut(ctx context.Context, put func(context.Context, []string) error) error {
	pages, err := urls(flag.Args()[1:], os.Stdin)
	if err != nil {
		return err
	}
	return put(ctx, pages)
}

func runWork(ctx context.Context, work func(context.Context) (fmt.Stringer, error)) error {
	summary, err := work(ctx)
	if err != nil {
		return err
	}
	fmt.Println("summary:", summary)
	return nil
}

// exitUsage prints an error about the command line, and exits as package flag
// does.
func exitUsage(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

// urls returns the arguments or, if there are none, the lines of in. All must
// be URLs of pages.
func urls(args []string, in io.Reader) ([]string, error) {
	if len(args) == 0 {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				args = append(args, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the URLs: %w", err)
		}
	}
	for _, arg := range args {
		u, err := url.Parse(arg)
		if err != nil {
			return nil, err
		}
		if !weburl.IsAbsolute(u) {
			return nil, fmt.Errorf("%q is not an http or https URL", arg)
		}
	}
	return args, nil
}
