package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A guard asks a gate about what a browser is about to request.
type guard struct {
	gate, token  string
	subresources bool                                       // ask about images, scripts and the like, too
	refused      func(url string, why verdict, other error) // told what was not requested, maybe by several goroutines
	slots        sync.Map                                   // the gate's ids, by those of the browser's requests
}

// A verdict is a response of the gate. Without an ID nothing may be requested.
type verdict struct{ ID, Reason, Rule, Error string }

// watch answers for all requests of ctx's browser, until ctx ends. The Fetch
// domain of the browser as a whole pauses those of its tabs, popups, frames and
// workers alike, and each hop of a redirect. A pause without an answer holds up
// the others, so each has a goroutine of its own.
func (g *guard) watch(ctx context.Context) error {
	paused := chromedp.BrowserEvents(ctx, fetch.RequestPaused)
	go func() {
		for e, err := range paused {
			if err == nil {
				go g.answer(ctx, e)
			}
		}
	}()
	_, err := chromedp.CallBrowser(ctx, fetch.Enable, fetch.EnableParams{})
	return err
}

// A service worker would fetch pages that are indistinguishable from images,
// and look for its own update unpaused. A prefetch is for a person's next
// click.
var errUnwanted = errors.New("a service worker, or a prefetch")

// answer lets a request go on, once its host's turn has come, or fails it.
func (g *guard) answer(ctx context.Context, e fetch.EventRequestPaused) {
	goOn := fetch.ContinueRequestParams{RequestID: e.RequestID}
	isUnwanted := e.Request.Headers["Service-Worker"] != nil || e.Request.Headers["Sec-Purpose"] != nil
	if e.ResponseStatusCode > 0 || e.ResponseErrorReason != "" {
		g.done(e)
	} else if isUnwanted || strings.HasPrefix(e.Request.URL, "http") && (g.subresources || e.ResourceType == network.ResourceTypeDocument) {
		v, err := verdict{}, errUnwanted
		if !isUnwanted {
			v, err = g.ask(ctx, http.MethodGet, "/check", url.Values{"url": {e.Request.URL}, "wait": {"1"}})
		}
		if v.ID == "" {
			g.refused(e.Request.URL, v, err)
			chromedp.CallBrowser(ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
			return
		}
		g.slots.Store(e.RequestID, v.ID)
		time.AfterFunc(30*time.Second, func() { g.done(e) }) // a page that is left gets no answer
		goOn.InterceptResponse = new(true)
	}
	if _, err := chromedp.CallBrowser(ctx, fetch.ContinueRequest, goOn); err != nil {
		g.done(e) // the page was left while it waited
	}
}

// done gives a request's slot back, if it has one, and reports the response of
// the site.
func (g *guard) done(e fetch.EventRequestPaused) {
	if id, ok := g.slots.LoadAndDelete(e.RequestID); ok {
		said := url.Values{"id": {id.(string)}, "status": {fmt.Sprint(e.ResponseStatusCode)}}
		for _, field := range e.ResponseHeaders {
			if strings.EqualFold(field.Name, "Retry-After") {
				said.Set("retry_after", field.Value)
			}
		}
		g.ask(context.Background(), http.MethodPost, "/done", said)
	}
}

func (g *guard) ask(ctx context.Context, method, path string, query url.Values) (v verdict, err error) {
	req, err := http.NewRequestWithContext(ctx, method, g.gate+path+"?"+query.Encode(), nil)
	if err != nil {
		return v, err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	return v, json.NewDecoder(resp.Body).Decode(&v)
}
