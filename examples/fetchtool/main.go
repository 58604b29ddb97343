// Fetchtool is a fetch tool for AI agents: a server of the Model Context
// Protocol with one tool, fetch, which returns the text of a web page.
//
//	fetchtool -user-agent "ExampleBot/1.0 (+https://example.com/bot)"
//	fetchtool -user-agent "ExampleBot/1.0 (+https://example.com/bot)" -http 127.0.0.1:8600
//
// Without -http, it speaks the protocol on standard input and output, as
// clients start it:
//
//	{"mcpServers": {"fetch": {
//	  "command": "fetchtool",
//	  "args": ["-user-agent", "ExampleBot/1.0 (+https://example.com/bot)"]
//	}}}
//
// With -http, it serves http://127.0.0.1:8600/mcp, on loopback only.
//
// The tool obeys robots.txt, for the URL and at each redirect. It keeps at
// least one second between two requests to a host, and more if Crawl-delay or
// Retry-After request it. It connects to public addresses only (-allow-private
// allows all), reads at most 1 MiB of a page, and limits each call to 30
// seconds. It returns HTML as readable text, marked as content from the web
// that contains no instructions. A page that was fetched in the last five
// minutes is not requested again, so that a model can read a long page in
// parts. If the owner of the site has stated preferences about AI, the result
// lists them. A refusal states its cause, and what the user can do.
//
// Through a proxy (HTTPS_PROXY), the tool checks only the address of the proxy,
// which must refuse private addresses itself.
//
// # What other fetch tools do
//
// The table compares the sources of November 2026: the fetch server of
// modelcontextprotocol/servers (0075ab9, Python), tinytrail/gofetch (251d959,
// Go) and the fetch tool of docker/docker-agent (7c1086d, Go). The tests of
// this program contain each row for fetchtool.
//
//	scenario                     servers   gofetch   docker-agent     fetchtool
//	robots.txt with status 500   fetches   fetches   refuses          refuses
//	robots.txt without response  refuses   fetches   fetches          refuses
//	Allow and wildcards          obeys     ignores   obeys            obeys
//	rules with a query           obeys     ignores   ignores          obeys
//	redirect to disallowed page  fetches   fetches   fetches          refuses
//	redirect to private address  fetches   fetches   refuses          refuses
//	DNS rebinding                fetches   fetches   refuses          refuses
//	Crawl-delay                  ignores   ignores   ignores          obeys
//	429 with Retry-After         ignores   ignores   ignores          obeys
//	a page of 50 MB              reads it  reads it  reads 1 MiB      reads 1 MiB
//	a challenge with status 200  returned  returned  returned         refused
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errHelp is the error of a command line that requests help or the version,
// which parseFlags has printed.
var errHelp = errors.New("help was printed")

// settings are the values of the flags.
type settings struct {
	userAgent    string
	address      string // of the HTTP server; "" means standard input and output
	delay        time.Duration
	allowPrivate bool
}

// parseFlags parses the command line.
func parseFlags(args []string, stdout io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("fetchtool", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.userAgent, "user-agent", "",
		"`name` and address of your agent, such as \"ExampleBot/1.0 (+https://example.com/bot)\"; required")
	flags.StringVar(&s.address, "http", "",
		"serve HTTP at this loopback `address` instead of standard input and output")
	flags.DurationVar(&s.delay, "delay", politeness.DefaultDelay,
		"minimum `time` between two requests to a host")
	flags.BoolVar(&s.allowPrivate, "allow-private", false,
		"also connect to loopback and private addresses")
	version := flags.Bool("version", false,
		"print the version of this build and of the Go that built it, and exit")
	rest, err := cli.Parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stdout, "usage: fetchtool -user-agent NAME [flags]")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return s, errHelp
	case err != nil:
	case *version:
		fmt.Fprintln(stdout, "fetchtool "+cli.Version())
		return s, errHelp
	case len(rest) > 0:
		err = fmt.Errorf("unexpected argument %q: fetchtool takes only flags", rest[0])
	case s.delay <= 0:
		err = errors.New("-delay must be more than 0")
	}
	if err != nil {
		return s, fmt.Errorf("%w (fetchtool -h lists the flags)", err)
	}
	return s, nil
}

// run serves until ctx or standard input ends, and returns the exit status: 0
// if serving ended in this way, 1 if the tool cannot serve, and 2 if the
// command line is wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stdout)
	if err == errHelp {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "fetchtool:", err)
		return 2
	}
	opts := robotsmw.Options{UserAgent: s.userAgent, Limiter: &politeness.Limiter{Delay: s.delay}}
	if !s.allowPrivate {
		opts.RefuseAddress = robotsmw.PublicOnly
	}
	f, err := newFetcher(opts)
	if err != nil {
		fmt.Fprintf(stderr, "fetchtool: -user-agent %q: %v\n", s.userAgent, err)
		return 2
	}
	if err := serve(ctx, newServer(f), s.address, stderr); err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "fetchtool:", err)
		return 1
	}
	return 0
}

// serve serves HTTP at the address or, if it is "", on standard input and
// output.
func serve(ctx context.Context, server *mcp.Server, address string, stderr io.Writer) error {
	if address == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	return serveHTTP(ctx, server, address, stderr)
}

// Arguments are the arguments of the tool. Clients receive their schema.
type Arguments struct {
	URL        string `json:"url" jsonschema:"the URL of the page, with http:// or https://"`
	MaxLength  int    `json:"max_length,omitempty" jsonschema:"return at most this many characters; default 5000"`
	StartIndex int    `json:"start_index,omitempty" jsonschema:"skip this many characters, to continue the last result"`
}

// newServer returns a server with the tool.
func newServer(f *fetcher) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "courtesy-fetchtool", Version: cli.Version()}, nil)
	openWorld := true
	tool := &mcp.Tool{
		Name: "fetch",
		Description: "Fetch a web page and return its text. " +
			"The tool obeys the site's robots.txt and waits between requests. " +
			"If it refuses, do not try to get the page in another way: tell the user the reason.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &openWorld},
	}
	type result = *mcp.CallToolResult
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, args Arguments) (result, any, error) {
		text, err := f.call(ctx, args)
		if err != nil {
			return nil, nil, err
		}
		content := []mcp.Content{&mcp.TextContent{Text: text}}
		return &mcp.CallToolResult{Content: content}, nil, nil
	})
	return server
}

// serveHTTP serves until ctx ends. It accepts connections from this machine
// only, and rejects the requests of web pages in a browser.
func serveHTTP(ctx context.Context, server *mcp.Server, address string, stderr io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		listener.Close()
		return fmt.Errorf("-http %s is not on loopback; any host that reaches the address could use the tool",
			address)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(handler))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	fmt.Fprintf(stderr, "fetchtool: serving http://%s/mcp\n", listener.Addr())
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
