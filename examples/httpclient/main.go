// Httpclient fetches a page, like the fetch tool of an AI agent, and prints its
// text.
//
//	httpclient https://example.com/a/page
//	httpclient -user-agent "YourBot/1.0 (+https://your.example/bot)" https://example.com/
//	httpclient -allow-private http://127.0.0.1:8080/
//
// It obeys robots.txt at each redirect, connects only to public addresses,
// reads at most 1 MiB, and ends after 20 seconds. HTML is converted to readable
// text. Plain text is converted to UTF-8. If a proxy is set (HTTPS_PROXY), only
// the proxy's own address is checked; the proxy must refuse to connect to
// private addresses.
//
// The exit status is
//
//   - 0 if the page was printed;
//   - 1 if robots.txt disallows the URL or its address is not public; standard
//     error contains the rule and its line, or the address;
//   - 2 if the command line is wrong;
//   - 3 if the URL may not be fetched now, because robots.txt is unreachable or
//     the host is paused until the time on standard error;
//   - 4 if there is no page, it is not text, or only a part was printed;
//   - 130 if Ctrl-C interrupted the fetch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/goodbots/courtesy/examples/internal/readable"
	"github.com/goodbots/courtesy/examples/internal/weburl"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

const defaultAgent = "ExampleBot/1.0 (+https://example.com/bot)"

const (
	maxBytes = 1 << 20
	maxTime  = 20 * time.Second // for robots.txt, the page, and all waits
)

// The exit statuses.
const (
	printed     = 0
	disallowed  = 1
	wrongUsage  = 2
	notNow      = 3
	noText      = 4
	interrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run fetches the URL in args, prints its text, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintln(stderr, "httpclient:", err)
		return status
	}
	flags := flag.NewFlagSet("httpclient", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: httpclient [flags] URL")
		flags.PrintDefaults()
	}
	agent := flags.String("user-agent", defaultAgent, "`name` and address of your tool")
	allowPrivate := flags.Bool("allow-private", false, "also allow loopback and private addresses")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return printed
		}
		return wrongUsage // Parse has printed the error
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return wrongUsage
	}
	page, err := url.Parse(flags.Arg(0))
	if err != nil || !weburl.IsAbsolute(page) {
		return fail(wrongUsage, fmt.Errorf("%q is not an http or https URL", flags.Arg(0)))
	}
	opts := robotsmw.Options{UserAgent: *agent}
	if !*allowPrivate {
		opts.RefuseAddress = robotsmw.PublicOnly
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		return fail(wrongUsage, err)
	}
	if err := printPage(ctx, stdout, client, page); err != nil {
		if ctx.Err() != nil {
			return fail(interrupted, errors.New("interrupted"))
		}
		return fail(exitStatus(err), err)
	}
	return printed
}

// printPage fetches a page and prints its text. If it returns errTooLong, it
// has printed the beginning.
func printPage(ctx context.Context, stdout io.Writer, client *http.Client, page *url.URL) error {
	text, fetchErr := fetch(ctx, client, page)
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	return fetchErr
}

var (
	errTooLong = errors.New("the page is longer than 1 MiB; only the text of the first 1 MiB is shown")
	errTooSlow = errors.New("the page took longer than 20 seconds")
)

// fetch returns the text of a page. If the page is longer than 1 MiB, fetch
// returns the beginning and errTooLong.
func fetch(ctx context.Context, client *http.Client, page *url.URL) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", fmt.Errorf("the status of %s is %s", resp.Request.URL.Redacted(), resp.Status)
	}
	content, isTruncated, err := readable.ReadResponse(resp, maxBytes)
	if err == nil && isTruncated {
		err = errTooLong
	}
	return content.Text, err
}

// exitStatus returns the exit status for an error of fetch.
func exitStatus(err error) int {
	_, isDelay := errors.AsType[*politeness.DelayError](err)
	switch {
	case errors.Is(err, robotsmw.ErrDisallowed), errors.Is(err, robotsmw.ErrAddressRefused):
		return disallowed
	case isDelay, errors.Is(err, robotsmw.ErrUnreachable):
		return notNow
	}
	return noText
}
