// Browser opens pages in Chromium, and asks a politegate about each of them.
//
//	politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"
//	browser -user-agent "ExampleBot/1.0 (+https://example.com/bot)" https://example.com/
//
// It prints a line for each page: its status, whether it may be indexed, its
// URL and its title. What says noindex is the header, and the document as it
// is after the page's scripts have run. What was refused, and why, goes to
// stderr.
//
// Each navigation is judged and waits for its turn: those of frames, popups and
// redirects, too. With -subresources, so is every other request: images,
// scripts, fetch(). Two things are never requested, because Chromium would
// fetch pages by them that nobody can judge: service workers and prefetches.
// One thing is not seen at all: the handshake of a WebSocket. A slot is given
// back when the site's header has come, before the body.
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
	g := &guard{refused: func(url string, v verdict, err error) {
		why := strings.TrimSpace(v.Reason + " " + v.Rule)
		if err != nil {
			why = err.Error()
		}
		fmt.Fprintf(os.Stderr, "refused %s: %s\n", url, cmp.Or(v.Error, why))
	}}
	agent := flag.String("user-agent", "", "`name` and address of your crawler, identical to the one of the gate; required")
	flag.StringVar(&g.gate, "gate", "http://127.0.0.1:8500", "`URL` of the politegate")
	flag.StringVar(&g.token, "token", os.Getenv("POLITEGATE_TOKEN"), "`token` of a gate that is not on loopback; default $POLITEGATE_TOKEN")
	flag.BoolVar(&g.subresources, "subresources", false, "also check and rate-limit images, scripts and other subresources")
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
		fmt.Printf("%d noindex=%t %s %s\n", p.status, p.said.NoIndex(), p.url, p.title)
	}
}

// preferences switch off "preload pages". What a site suggests to load in
// advance (speculation rules) would come without a pause.
const preferences = `{"net": {"network_prediction_options": 2}}`

// open starts a Chromium that the guard watches. Its name is the crawler's.
func open(ctx context.Context, agent string, g *guard) (_ context.Context, closeAll func(), err error) {
	profile, err := os.MkdirTemp("", "politegate")
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.UserAgent(agent), chromedp.UserDataDir(profile),
		chromedp.DisableGPU, chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true))...)
	ctx, cancel := chromedp.NewContext(ctx)
	closeAll = func() {
		cancel()
		stop()
		os.RemoveAll(profile)
	}
	if err = os.Mkdir(filepath.Join(profile, "Default"), 0o700); err == nil {
		err = os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(preferences), 0o600)
	}
	if err == nil {
		err = chromedp.Do(ctx)
	}
	if err == nil {
		err = g.watch(ctx)
	}
	if err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return ctx, closeAll, nil
}

// A page is the response of a site with its document.
type page struct {
	url, title string
	status     int64
	said       robotsmeta.Directives // by the header and the rendered document
}

// errLeft: the page opened another page (a refresh, a script) before its
// document could be read. The indexing directives of the document are unknown.
var errLeft = errors.New("the page was left for another page before its document was read")

// readDocument returns the title and the source of the present document, in
// one step, so that both are of the same document. While a page is replaced,
// there may be a document without an element.
const readDocument = `({url: document.URL, title: document.title, source: document.documentElement?.outerHTML ?? ""})`

// visit opens a page, and reads the document that its scripts have made. If the
// page is left before, the error is errLeft.
func visit(ctx context.Context, agent, url string) (page, error) {
	resp, err := chromedp.Run(ctx, chromedp.NavigateResponse(url))
	if err != nil {
		return page{}, err
	} else if resp == nil {
		resp = &network.Response{URL: url} // no page of a site
	}
	document, err := chromedp.Run(ctx, chromedp.Evaluate[struct{ URL, Title, Source string }](readDocument))
	switch {
	case isLeft(err):
		return page{}, errLeft
	case err != nil:
		return page{}, err
	case document.Source == "" || strings.HasPrefix(document.URL, "chrome-error:"):
		return page{}, errLeft
	}
	header := make(map[string][]string)
	for name, value := range resp.Headers {
		header[http.CanonicalHeaderKey(name)] = strings.Split(fmt.Sprint(value), "\n")
	}
	token, _, _ := strings.Cut(agent, "/")
	return page{url: resp.URL, title: document.Title, status: resp.Status, said: robotsmeta.ParseHeader(header, token).Union(htmlmeta.Scan([]byte(document.Source), token))}, nil
}

// isLeft reports whether a call to the browser failed because the page began to
// navigate. The protocol has one code for many errors, and a text for each.
func isLeft(err error) bool {
	var failed *cdproto.Error
	return errors.As(err, &failed) && failed.Message == "Inspected target navigated or closed"
}
