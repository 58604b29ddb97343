// Politegate decides which URLs browsers and crawlers in other languages may
// request, and when. It serves package gate.
//
//	politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"
//	curl 'http://127.0.0.1:8500/check?url=https://example.com/'
//	curl 'http://127.0.0.1:8500/fetch?url=https://example.com/'
//
// In Python, with a copy of python/courtesy.py beside your program:
//
//	from courtesy import Gate
//	gate = Gate()
//	with gate.fetch("https://example.com/") as page:
//		print(page.status, page.read())
//
// If a page may not be fetched, fetch raises courtesy.Refused. The same
// directory contains a module for Scrapy, and the directory browser contains a
// program that controls Chromium. The documentation of package gate describes
// the requests of clients and the responses.
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

// run runs the command, prints its error, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := runCommand(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "politegate:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

// A usageError is a mistake on the command line.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// options are the values of the flags.
type options struct {
	userAgent    string
	listen       string
	tokenFile    string
	delay        time.Duration
	lease        time.Duration
	store        string
	maxBody      int64
	allowPrivate bool
	version      bool
}

func (o *options) declare(flags *flag.FlagSet) {
	flags.StringVar(&o.userAgent, "user-agent", "", "`name` and address of your crawler; required")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8500", "`address` to listen on")
	flags.StringVar(&o.tokenFile, "token-file", "",
		"`file` with the token that clients outside of loopback must send")
	flags.DurationVar(&o.delay, "delay", politeness.DefaultDelay,
		"minimum `time` between two requests to a host")
	flags.DurationVar(&o.lease, "lease", politeness.DefaultLease,
		"maximum `time` for which a client holds a slot")
	flags.StringVar(&o.store, "store", "", "keep robots.txt in this `directory`")
	flags.Int64Var(&o.maxBody, "max-body", 64<<20, "maximum size in `bytes` of a page of /fetch")
	flags.BoolVar(&o.allowPrivate, "allow-private", false,
		"let clients reach private and loopback addresses")
	flags.BoolVar(&o.version, "version", false,
		"print the version of this build and of the Go that built it, and exit")
}

func runCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("politegate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.declare(flags)
	rest, err := cli.Parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(stdout, flags)
		return nil
	}
	if err == nil && o.version {
		fmt.Fprintln(stdout, "politegate "+cli.Version())
		return nil
	}
	if err == nil {
		err = o.check(rest)
	}
	if err != nil {
		return usageErrorf("%w (politegate -h lists the flags)", err)
	}
	var total counts
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	handler, err := o.newHandler(&total, logger)
	if err != nil {
		return err
	}
	listener, err := o.newListener(handler.Token != "")
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "politegate: listening on http://%s\n", listener.Addr())
	if err := serve(ctx, listener, handler, logger); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "politegate: stopped after %d requests that robots.txt allows "+
		"and %d that it disallows\n", total.allowed.Load(), total.disallowed.Load())
	return nil
}

func printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintln(w, "usage: politegate -user-agent NAME [flags]\n\n"+
		"The documentation of package robotsmw/gate describes the requests of clients.")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// check returns an error if the command line is wrong.
func (o *options) check(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: politegate takes only flags", args[0])
	}
	hasDurations := o.delay > 0 && o.lease > 0
	if !hasDurations || o.maxBody <= 0 {
		return errors.New("-delay, -lease and -max-body must be more than 0")
	}
	return nil
}

// newHandler returns the gate.
func (o *options) newHandler(total *counts, logger *slog.Logger) (*gate.Handler, error) {
	opts := robotsmw.Options{
		UserAgent: o.userAgent,
		Observer:  total.observer(),
		Logger:    logger,
		Limiter: &politeness.Limiter{
			Delay:  o.delay,
			Lease:  o.lease,
			Logger: logger,
		},
	}
	if o.allowPrivate {
		opts.RefuseAddress = func(netip.Addr) error { return nil }
	}
	if o.store != "" {
		store, err := diskstore.Open(o.store)
		if err != nil {
			return nil, fmt.Errorf("-store: %w", err)
		}
		opts.Store = store
	}
	h, err := gate.New(opts)
	if err != nil {
		return nil, usageErrorf("-user-agent %q: %w", o.userAgent, err)
	}
	h.MaxBody = o.maxBody
	if o.tokenFile != "" {
		h.Token, err = readToken(o.tokenFile)
		if err != nil {
			return nil, usageErrorf("-token-file: %w", err)
		}
	}
	return h, nil
}

func readToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 16 {
		return "", errors.New("the token must have at least 16 characters in " + file)
	}
	return token, nil
}

// newListener listens on the address of -listen. Without a token, it must be on
// loopback.
func (o *options) newListener(hasToken bool) (net.Listener, error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, err
	}
	isLoopback := listener.Addr().(*net.TCPAddr).IP.IsLoopback()
	if !isLoopback && !hasToken {
		listener.Close()
		return nil, usageErrorf("-listen %s is not on loopback; -token-file is required", o.listen)
	}
	return listener, nil
}

// serve serves until ctx is done, and then waits for the requests in progress.
func serve(ctx context.Context, listener net.Listener, h http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      15 * time.Minute, // a wait of five minutes, and a long page
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	return nil
}
