// Browser opens pages in Chromium. Before each request for a page, it obtains
// the permission of a politegate.
//
//	politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"
//	browser -user-agent "ExampleBot/1.0 (+https://example.com/bot)" https://example.com/
//
// It prints a line for each page: its status, whether it has noindex, its URL
// and its title. The directives are those of the header and of the document
// after the scripts of the page have run. Requests that were not sent are
// printed to stderr, with the reason.
//
// A navigation is requested only if robots.txt allows it, and only when the
// host is due. This includes the navigations of frames, popups and redirects.
// With -subresources, it includes every other request, such as for images,
// scripts and fetch(). Service workers and prefetches are never requested,
// because pages that they fetch are indistinguishable from images. The
// handshake of a WebSocket is not checked. A slot is released when the header
// of the response is received, before the body.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

func main() {
	g := &guard{onRefused: printRefused}
	agent := flag.String("user-agent", "",
		"`name` and address of your crawler, the same as -user-agent of the gate; required")
	flag.StringVar(&g.gate, "gate", "http://127.0.0.1:8500", "`URL` of the politegate")
	flag.StringVar(&g.token, "token", os.Getenv("POLITEGATE_TOKEN"),
		"`token` of a gate that is not on loopback; default $POLITEGATE_TOKEN")
	flag.BoolVar(&g.subresources, "subresources", false,
		"also check and rate-limit images, scripts and other subresources")
	flag.Parse()
	if *agent == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: browser -user-agent NAME [flags] URL...")
		flag.PrintDefaults()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel, err := open(ctx, *agent, g)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
	defer cancel()
	for _, url := range flag.Args() {
		p, err := visit(ctx, *agent, url)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", url, err)
			continue
		}
		fmt.Printf("%d noindex=%t %s %s\n", p.status, p.directives.NoIndex(), p.url, p.title)
	}
}

// printRefused prints a request that was not sent, and the reason.
func printRefused(url string, v verdict, err error) {
	reason := cmp.Or(v.Error, strings.TrimSpace(v.Reason+" "+v.Rule))
	if v.Error == "" && err != nil {
		reason = err.Error()
	}
	fmt.Fprintf(os.Stderr, "refused %s: %s\n", url, reason)
}

// preferences disable "preload pages", because requests for pages that a site
// suggests to load in advance (speculation rules) are not intercepted.
const preferences = `{"net": {"network_prediction_options": 2}}`

// open starts Chromium with agent as its User-Agent, and lets g intercept its
// requests. closeAll ends Chromium and removes its profile.
func open(
	ctx context.Context, agent string, g *guard,
) (_ context.Context, closeAll func(), err error) {
	profile, err := os.MkdirTemp("", "politegate")
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserAgent(agent),
		chromedp.UserDataDir(profile),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true))
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	closeAll = func() {
		cancel()
		stop()
		os.RemoveAll(profile)
	}
	if err := prepare(ctx, profile, g); err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return ctx, closeAll, nil
}

// prepare writes the preferences to the profile, starts the browser, and lets g
// intercept its requests.
func prepare(ctx context.Context, profile string, g *guard) error {
	dir := filepath.Join(profile, "Default")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "Preferences"), []byte(preferences), 0o600); err != nil {
		return err
	}
	if err := chromedp.Do(ctx); err != nil {
		return err
	}
	return g.watch(ctx)
}

// A page is the response of a site with its document.
type page struct {
	url, title string
	status     int64
	directives robotsmeta.Directives // of the header and the rendered document
}

// errLeft means that the page opened another page, for example by a refresh or
// a script, before its document could be read. The directives of the document
// are unknown.
var errLeft = errors.New("the page was left for another page before its document was read")

// readDocument is the script that returns the URL, the title and the source of
// the current document in one step, so that all are of the same document. While
// a page is being replaced, its document may have no element.
const readDocument = `({
	url: document.URL,
	title: document.title,
	source: document.documentElement?.outerHTML ?? "",
})`

// A document is the result of readDocument.
type document struct{ URL, Title, Source string }

// visit opens a page, and reads its document after its scripts have run. If the
// browser leaves the page before then, visit returns errLeft.
func visit(ctx context.Context, agent, url string) (page, error) {
	resp, err := chromedp.Run(ctx, chromedp.NavigateResponse(url))
	if err != nil {
		return page{}, err
	} else if resp == nil {
		resp = &network.Response{URL: url} // not from a site, such as about:blank
	}
	doc, err := chromedp.Run(ctx, chromedp.Evaluate[document](readDocument))
	if isLeft(err) {
		return page{}, errLeft
	} else if err != nil {
		return page{}, err
	}
	isErrorPage := strings.HasPrefix(doc.URL, "chrome-error:")
	if isErrorPage || doc.Source == "" {
		return page{}, errLeft
	}
	token, _, _ := strings.Cut(agent, "/")
	inHeader := robotsmeta.ParseHeader(httpHeader(resp.Headers), token)
	inDocument := htmlmeta.Scan([]byte(doc.Source), token)
	return page{
		url:        resp.URL,
		title:      doc.Title,
		status:     resp.Status,
		directives: inHeader.Union(inDocument),
	}, nil
}

// httpHeader converts the header of the protocol, in which the values of a
// field are separated by newlines.
func httpHeader(fields network.Headers) http.Header {
	header := make(http.Header)
	for name, values := range fields {
		header[http.CanonicalHeaderKey(name)] = strings.Split(fmt.Sprint(values), "\n")
	}
	return header
}

// isLeft reports whether a call to the browser failed because the page began to
// navigate. The protocol distinguishes these errors only by their messages.
func isLeft(err error) bool {
	var failed *cdproto.Error
	return errors.As(err, &failed) && failed.Message == "Inspected target navigated or closed"
}
