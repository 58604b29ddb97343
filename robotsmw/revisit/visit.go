package revisit

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
	robotspage "github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Visit describes the page to which a response of a [Transport] refers.
type Visit struct {
	// Unchanged reports whether the page has not changed since Since. The
	// response is a 304, from the server or generated. If the server sends a
	// 304 in response to an unconditional request, or a 304 that refers to
	// another version, Unchanged is false, and the caller should request the
	// page again.
	Unchanged bool

	// Sent reports whether a request was sent. If not, the response was
	// generated.
	Sent bool

	// Directives are the directives of the page, including those that were
	// stored if the response is a 304. While the body is being read, they are
	// incomplete.
	Directives robotsmeta.Directives

	// Since is when the page was last received with status 200. It is zero if
	// that is not known.
	Since time.Time

	// Fresh is the time until which requests for the page are not sent. It is
	// zero if the next request will be sent.
	Fresh time.Time
}

// Of returns the Visit of a response of a Transport, even if an http.Client has
// replaced the body. ok is false for other responses, including those to
// requests that the Transport passed to Base unchanged.
func Of(resp *http.Response) (v Visit, ok bool) {
	if resp == nil || resp.Request == nil {
		return Visit{}, false
	}
	internal := requestVisit(resp.Request)
	if internal == nil {
		return Visit{}, false
	}
	v = internal.result
	v.Directives = robotsmw.PageDirectives(resp).Directives
	return v, true
}

type visitKey struct{}

// requestVisit returns the visit in the context of a request, or nil.
func requestVisit(req *http.Request) *visit {
	v, _ := req.Context().Value(visitKey{}).(*visit)
	return v
}

// A visit is the state of a request for a page.
type visit struct {
	base     http.RoundTripper
	cache    cache
	minFresh time.Duration
	maxFresh time.Duration

	key     string
	request *http.Request // the request of the caller
	began   time.Time
	stored  cacheEntry // when the request began

	result Visit // without Directives; not modified after RoundTrip has returned
}

// reuse generates a response from a stored response.
func (v *visit) reuse(r *cachedResponse) *http.Response {
	v.result = Visit{Since: v.storedSince(), Fresh: time.Unix(0, r.Until)}
	status := int(r.Status)
	ctx := context.WithValue(v.request.Context(), visitKey{}, v)
	if r == v.stored.Page {
		v.result.Unchanged = true
		status = http.StatusNotModified
		ctx = withPage(ctx, r)
	}
	resp := &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     make(http.Header, 3),
		Body:       http.NoBody,
		Request:    v.request.WithContext(ctx),
	}
	for i, name := range headerFields[:varyField] {
		if value := r.field(i); value != "" {
			resp.Header[name] = []string{value}
		}
	}
	return resp
}

// withPage returns a context that makes robotsmw.PageDirectives return the
// directives of a stored page.
func withPage(ctx context.Context, r *cachedResponse) context.Context {
	page := robotsmw.Page{Directives: r.directives(), State: r.State}
	return context.WithValue(ctx, robotspage.StandsFor{}, page)
}

// storedSince returns when the stored page was received, or the zero time if no
// page is stored.
func (v *visit) storedSince() time.Time {
	if v.stored.Page == nil {
		return time.Time{}
	}
	return time.Unix(0, v.stored.Page.Since)
}

// send sends the request, with the stored validators if there are any.
func (v *visit) send() (*http.Response, error) {
	out := v.request.WithContext(context.WithValue(v.request.Context(), visitKey{}, v))
	conditional := v.stored.Page.matches(v.request) && v.stored.Page.hasValidator()
	if conditional {
		out.Header = maps.Clone(out.Header)
		if out.Header == nil {
			out.Header = make(http.Header)
		}
		if etag := v.stored.Page.field(etagField); etag != "" {
			out.Header["If-None-Match"] = []string{etag}
		}
		if lastModified := v.stored.Page.field(lastModifiedField); lastModified != "" {
			out.Header["If-Modified-Since"] = []string{lastModified}
		}
	}
	resp, err := v.base.RoundTrip(out)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Request == nil || requestVisit(resp.Request) != v {
		resp.Request = out
	}
	v.result = Visit{Sent: true, Since: v.storedSince()}
	v.update(resp, conditional)
	return resp, nil
}

// update updates the cache and v.result for a response from the server.
// conditional reports whether the Transport added validators to the request.
func (v *visit) update(resp *http.Response, conditional bool) {
	now := time.Now()
	f := freshness.Of(resp.Header, now)
	page := robotsmw.PageDirectives(resp)
	code := resp.StatusCode
	if code == http.StatusNotModified {
		if conditional {
			v.updateNotModified(resp, page.Directives, f, now)
		}
		return
	}
	if isAuthorized := len(v.request.Header["Authorization"]) > 0; isAuthorized && !f.Public {
		return
	}
	if httpstatus.IsThrottled(code) {
		v.storeAnswer(resp, v.stored.Page, f, now)
		return
	}
	if page.Refusal.Sure { // a bot-protection response, whatever its status
		return
	}
	switch code {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect,
		http.StatusNotFound, http.StatusGone:
		v.result.Since = time.Time{}
		v.storeAnswer(resp, nil, f, now)
	case http.StatusOK:
		v.replacePage(resp, f, now)
	}
}

// updateNotModified updates the stored page for a 304 (RFC 9111 §4.3.4).
func (v *visit) updateNotModified(
	resp *http.Response, added robotsmeta.Directives, f freshness.Freshness, now time.Time,
) {
	updated := *v.stored.Page
	if !includes(updated.directives(), added) {
		updated.setDirectives(updated.directives().Union(added))
	}
	resp.Request = resp.Request.WithContext(withPage(resp.Request.Context(), &updated))
	if !updated.hasSameValidator(resp.Header) {
		v.result.Since = time.Time{}
		v.put(cacheEntry{})
		return
	}
	v.result.Unchanged = true
	vary, ok := parseVary(resp.Header)
	if f.NoStore || !ok {
		v.put(cacheEntry{})
		return
	}
	if len(resp.Header["Vary"]) > 0 {
		updated.setField(varyField, vary)
		updated.Variant = variant(v.request, vary)
	}
	for i, name := range headerFields[:locationField] {
		if value := singleLine(resp.Header, name); value != "" {
			updated.setField(i, value)
		}
	}
	if len(resp.Header["Cache-Control"]) > 0 || f.Stated {
		updated.Lifetime = f.Lifetime
		updated.NoCache = f.NoCache
		updated.Public = f.Public
	}
	v.setFreshness(&updated, f.Age, now)
	v.put(cacheEntry{Page: &updated})
}

// includes reports whether a contains all rules of b. This is the usual case
// for a 304, because servers send the same X-Robots-Tag with each response.
func includes(a, b robotsmeta.Directives) bool {
	rules := slices.Collect(a.Rules())
	for rule := range b.Rules() {
		if !slices.Contains(rules, rule) {
			return false
		}
	}
	return a.Truncated() || !b.Truncated()
}

// storeAnswer stores the page, which may be nil, together with resp. If resp is
// not fresh or must not be stored, only the page is stored.
func (v *visit) storeAnswer(
	resp *http.Response, page *cachedResponse, f freshness.Freshness, now time.Time,
) {
	e := cacheEntry{Page: page}
	if r := v.newResponse(resp, f, now); r != nil && r.Until > now.UnixNano() {
		e.Answer = r
	}
	if e != (cacheEntry{}) || v.stored != (cacheEntry{}) {
		v.put(e)
	}
}

// replacePage removes the stored page. It stores the new page when its body has
// been read.
func (v *visit) replacePage(resp *http.Response, f freshness.Freshness, now time.Time) {
	if v.stored != (cacheEntry{}) {
		v.put(cacheEntry{})
	}
	v.result.Since = now
	r := v.newResponse(resp, f, now)
	if r == nil {
		return
	}
	if isFresh := r.Until > now.UnixNano(); !isFresh && !r.hasValidator() {
		return
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	original := *resp // the caller may modify resp
	resp.Body = &body{ReadCloser: resp.Body, page: r, resp: &original, put: v.put}
}

// newResponse returns a cachedResponse without the directives of the body. It
// returns nil if the response must not be stored.
func (v *visit) newResponse(
	resp *http.Response, f freshness.Freshness, now time.Time,
) *cachedResponse {
	vary, ok := parseVary(resp.Header)
	if f.NoStore || !ok {
		return nil
	}
	fields := make([]string, len(headerFields))
	for i, name := range headerFields[:varyField] {
		fields[i] = singleLine(resp.Header, name)
	}
	fields[varyField] = vary
	if fields[etagField] == "" && isWeakDate(fields[lastModifiedField], fields[dateField], now) {
		fields[lastModifiedField] = ""
	}
	r := &cachedResponse{
		Header:   strings.Join(fields, "\n"),
		Variant:  variant(v.request, vary),
		Since:    now.UnixNano(),
		Lifetime: f.Lifetime,
		Status:   uint16(resp.StatusCode),
		NoCache:  f.NoCache,
		Public:   f.Public,
	}
	if len(r.Header) > maxHeader {
		return nil
	}
	v.setFreshness(r, f.Age, now)
	return r
}

// isWeakDate reports whether a Last-Modified is less than a second before the
// response, so that a later change in the same second would not be detected.
func isWeakDate(lastModified, date string, now time.Time) bool {
	modified, err := http.ParseTime(lastModified)
	if err != nil {
		return false
	}
	received, err := http.ParseTime(date)
	if err != nil {
		received = now
	}
	return received.Sub(modified) < time.Second
}

const maxLifetime = 10 * 365 * 24 * time.Hour // prevents an overflow of time.Duration

// setFreshness sets r.Until for a response that was received or validated at
// the time now, with the given age.
func (v *visit) setFreshness(r *cachedResponse, age time.Duration, now time.Time) {
	remaining := min(max(0, r.Lifetime-age), maxLifetime)
	remaining = max(remaining, v.minFresh)
	if r.NoCache {
		remaining = 0
	}
	if v.maxFresh > 0 {
		remaining = min(remaining, v.maxFresh)
	}
	r.Until = now.Add(remaining).UnixNano()
	v.result.Fresh = r.freshUntil(now)
}

// put replaces the entry in the cache, or removes it if e is zero.
func (v *visit) put(e cacheEntry) {
	if e != (cacheEntry{}) {
		e.Requested = v.began.UnixNano()
	}
	v.cache.put(v.key, e, v.began)
}
