package collyrobots

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// failClosed makes all requests of a collector fail with err, the error of
// Attach. A program that ignores the error must not crawl without checking
// robots.txt.
func failClosed(c *colly.Collector, err error) {
	b, unknownLayout := findBackend(c)
	if unknownLayout != nil {
		failClosedByAPI(c, err)
		return
	}
	x := &Extension{
		first:        c,
		firstBackend: backendPointer(c),
		failed:       err,
		opts:         robotsmw.Options{Logger: slog.New(slog.DiscardHandler)},
	}
	x.newGuard(b, (*b.client).Transport, err, (*b.client).Timeout)
	onRequestFirst(c, func(r *colly.Request) {
		if x.released.Load() {
			return // a later Attach has replaced the failed one
		}
		seal(r)
		x.guardFor(c) // after Collector.Init, the new backend gets a guard
	})
}

// release undoes failClosed for a backend.
func (g *guard) release() {
	g.x.released.Store(true)
	g.syncClient() // applies the settings that were changed last
	client := *g.client
	client.Transport = g.base
	client.Timeout = max(g.timeout, 0) // negative means no limit
	if client.CheckRedirect != nil {
		client.CheckRedirect = g.redirect
	}
	if own, ok := client.Jar.(*jar); ok {
		client.Jar = own.CookieJar
	}
	if bytes.Equal(rawBytes(&client), rawBytes(g.programsClient)) { // nothing was set on the collector
		*g.backend.client = g.programsClient // so that later changes of it take effect
	} else {
		*g.backend.client = &client
	}
	g.backend.removeHook()
}

// failClosedByAPI is failClosed for a version of colly that is not supported.
// It sets the client for each request, because it cannot detect whether the
// program has set another client.
func failClosedByAPI(c *colly.Collector, err error) {
	if c == nil || c.Context == nil {
		return // it was not initialized, and cannot make a request
	}
	client := &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	})}
	transport := client.Transport
	refuse := func(*colly.Request) {
		client.Transport = transport
		c.SetClient(client)
	}
	refuse(nil)
	c.OnRequestHeaders(refuse)
}

// logLosses logs which features do not work with this version of colly.
func logLosses(logger *slog.Logger) {
	lost := slices.Collect(maps.Values(collyLayout().missing))
	if !sealable() {
		lost = append(lost, "if a transport is set while requests are under way, "+
			"one of them may be sent through it without a check of robots.txt")
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		lost = slices.Compact(lost)
		logger.Warn("collyrobots: some features do not work with this version of colly: " + strings.Join(lost, "; "))
	}
}
