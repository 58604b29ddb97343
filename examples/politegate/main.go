// Politegate decides for browsers, and for crawlers in other languages, which
// URLs they may request, and when. It serves package gate.
//
//	politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"
//	curl 'http://127.0.0.1:8500/check?url=https://example.com/'
//	curl 'http://127.0.0.1:8500/fetch?url=https://example.com/'
//
// In Python, with courtesy.py from the directory python beside your program:
//
//	from courtesy import Gate
//	gate = Gate()
//	with gate.fetch("https://example.com/") as page:
//		print(page.status, page.read())
//
// A page that may not be fetched raises courtesy.Refused. The same directory
// contains a module for Scrapy, and the directory browser contains a program
// that drives Chromium. The documentation of package gate describes the
// requests of clients and the responses.
//
// Politegate listens on loopback. Any other address requires -token-file. After
// Ctrl-C, politegate waits at most half a minute for the requests in progress,
// prints the number of requests, and exits with status 0. The exit status is 1
// if the gate could not listen, and 2 if the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/gate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// counts are the numbers of requests by decision.
type counts struct{ allowed, disallowed atomic.Int64 }

func (c *counts) observer() *robotsmw.Observer {
	return &robotsmw.Observer{Decided: func(_ context.Context, d robotsmw.Decision) {
		if d.Allowed {
			c.allowed.Add(1)
		} else {
			c.disallowed.Add(1)
		}
	}}
}

// run serves until ctx ends, and returns the exit status. Most of its branches
// check a flag; the first invalid one is reported.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintln(stderr, "politegate:", err)
		return status
	}
	var total counts
	opts := robotsmw.Options{
		Observer: total.observer(),
		Logger:   slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	limiter := &politeness.Limiter{Logger: opts.Logger}
	flags := flag.NewFlagSet("politegate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.UserAgent, "user-agent", "", "`name` and address of your crawler; required")
	listen := flags.String("listen", "127.0.0.1:8500", "`address` to listen on")
	tokenFile := flags.String("token-file", "", "`file` with the token that clients outside of loopback must send")
	flags.DurationVar(&limiter.Delay, "delay", politeness.DefaultDelay, "minimum `time` between two requests to a host")
	flags.DurationVar(&limiter.Lease, "lease", politeness.DefaultLease, "maximum `time` for which a client holds a slot")
	store := flags.String("store", "", "keep robots.txt in this `directory`")
	maxBody := flags.Int64("max-body", 64<<20, "maximum size in `bytes` of a page of /fetch")
	private := flags.Bool("allow-private", false, "let clients reach private and loopback addresses")
	version := flags.Bool("version", false, "print the version of this build and of the Go that built it, and exit")
	rest, err := cli.Parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stdout, "usage: politegate -user-agent NAME [flags]\n\n"+
			"The documentation of package robotsmw/gate describes the requests of clients.")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0
	case err == nil && *version:
		fmt.Fprintln(stdout, "politegate "+cli.Version())
		return 0
	case err == nil && len(rest) > 0:
		err = fmt.Errorf("unexpected argument %q: politegate takes only flags", rest[0])
	case err == nil && (limiter.Delay <= 0 || limiter.Lease <= 0 || *maxBody <= 0):
		err = errors.New("-delay, -lease and -max-body must be more than 0")
	}
	if err != nil {
		return fail(2, fmt.Errorf("%w (politegate -h lists the flags)", err))
	}
	opts.Limiter = limiter
	if *private {
		opts.RefuseAddress = func(netip.Addr) error { return nil }
	}
	if *store != "" {
		if opts.Store, err = diskstore.Open(*store); err != nil {
			return fail(1, fmt.Errorf("-store: %w", err))
		}
	}
	h, err := gate.New(opts)
	if err != nil {
		return fail(2, fmt.Errorf("-user-agent %q: %w", opts.UserAgent, err))
	}
	h.MaxBody = *maxBody
	if *tokenFile != "" {
		token, err := os.ReadFile(*tokenFile)
		h.Token = strings.TrimSpace(string(token))
		if err == nil && len(h.Token) < 16 {
			err = errors.New("the token must have at least 16 characters in " + *tokenFile)
		}
		if err != nil {
			return fail(2, fmt.Errorf("-token-file: %w", err))
		}
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return fail(1, err)
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() && h.Token == "" {
		listener.Close()
		return fail(2, fmt.Errorf("-listen %s is not on loopback; -token-file is required", *listen))
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      15 * time.Minute, // a wait of five minutes, and a long page
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	fmt.Fprintf(stderr, "politegate: listening on http://%s\n", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fail(1, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	fmt.Fprintf(stderr, "politegate: stopped after %d requests that robots.txt allows and %d that it disallows\n",
		total.allowed.Load(), total.disallowed.Load())
	return 0
}
