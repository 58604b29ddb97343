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

// A guard intercepts the requests of a browser, and continues those that a gate
// allows.
type guard struct {
	gate, token  string
	subresources bool // also check images, scripts and other subresources

	// onRefused is called for each request that was not sent, with the verdict
	// of the gate or, if there is none, the error. It must be safe for
	// concurrent use.
	onRefused func(url string, v verdict, err error)

	slots sync.Map // ids of slots of the gate, by request id of the browser
}

// A verdict is a response of the gate. The ID identifies a slot. If it is "",
// the request must not be sent.
type verdict struct{ ID, Reason, Rule, Error string }

// watch handles all requests of the browser of ctx until ctx ends. The Fetch
// domain of the whole browser pauses the requests of tabs, popups, frames and
// workers, and each hop of a redirect. Each paused request is handled in a
// goroutine of its own, so that it does not delay the others.
func (g *guard) watch(ctx context.Context) error {
	paused := chromedp.BrowserEvents(ctx, fetch.RequestPaused)
	go func() {
		for e, err := range paused {
			if err == nil {
				go g.handle(ctx, e)
			}
		}
	}()
	_, err := chromedp.CallBrowser(ctx, fetch.Enable, fetch.EnableParams{})
	return err
}

// errUnwanted is the error of requests for service workers and of prefetches,
// which are never sent. A service worker could evade the guard: the pages that
// it fetches are indistinguishable from images, and the browser does not pause
// its checks for updates. A prefetch only prepares the next click of a person.
var errUnwanted = errors.New("service workers and prefetches are not supported")

// handle continues a paused request when its host is due, or fails it. If the
// request was paused at its response, handle releases the slot.
func (g *guard) handle(ctx context.Context, e fetch.EventRequestPaused) {
	params := fetch.ContinueRequestParams{RequestID: e.RequestID}
	hasResponse := e.ResponseStatusCode > 0 || e.ResponseErrorReason != ""
	switch {
	case hasResponse:
		g.done(e)
	case isUnwanted(e) || g.mustCheck(e):
		v, err := g.admit(ctx, e)
		if v.ID == "" {
			g.refuse(ctx, e, v, err)
			return
		}
		g.slots.Store(e.RequestID, v.ID)
		// The browser reports no response if the page is left, so the slot is
		// released after 30 seconds at the latest.
		time.AfterFunc(30*time.Second, func() { g.done(e) })
		params.InterceptResponse = new(true)
	}
	if _, err := chromedp.CallBrowser(ctx, fetch.ContinueRequest, params); err != nil {
		g.done(e) // the page was left while the request waited
	}
}

// refuse fails a request.
func (g *guard) refuse(ctx context.Context, e fetch.EventRequestPaused, v verdict, err error) {
	g.onRefused(e.Request.URL, v, err)
	chromedp.CallBrowser(ctx, fetch.FailRequest, fetch.FailRequestParams{
		RequestID:   e.RequestID,
		ErrorReason: network.ErrorReasonBlockedByClient,
	})
}

// isUnwanted reports whether a request is for a service worker or a prefetch.
func isUnwanted(e fetch.EventRequestPaused) bool {
	header := e.Request.Headers
	return header["Service-Worker"] != nil || header["Sec-Purpose"] != nil
}

// mustCheck reports whether a request needs a slot of the gate.
func (g *guard) mustCheck(e fetch.EventRequestPaused) bool {
	if !strings.HasPrefix(e.Request.URL, "http") {
		return false
	}
	return g.subresources || e.ResourceType == network.ResourceTypeDocument
}

// admit waits until the gate grants a slot for the request. An unwanted request
// gets none.
func (g *guard) admit(ctx context.Context, e fetch.EventRequestPaused) (verdict, error) {
	if isUnwanted(e) {
		return verdict{}, errUnwanted
	}
	query := url.Values{"url": {e.Request.URL}, "wait": {"1"}}
	return g.call(ctx, http.MethodGet, "/check", query)
}

// done releases the slot of a request, if it has one, and reports the status
// and the Retry-After of the response to the gate.
func (g *guard) done(e fetch.EventRequestPaused) {
	id, ok := g.slots.LoadAndDelete(e.RequestID)
	if !ok {
		return
	}
	outcome := url.Values{
		"id":     {id.(string)},
		"status": {fmt.Sprint(e.ResponseStatusCode)},
	}
	for _, field := range e.ResponseHeaders {
		if strings.EqualFold(field.Name, "Retry-After") {
			outcome.Set("retry_after", field.Value)
		}
	}
	g.call(context.Background(), http.MethodPost, "/done", outcome)
}

// call sends a request to the gate, and returns its response.
func (g *guard) call(
	ctx context.Context, method, path string, query url.Values,
) (v verdict, err error) {
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
