package revisit

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
	robotspage "github.com/goodbots/courtesy/robotsmw/internal/page"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Visit is what is known of the page that a response brings or stands for.
type Visit struct {
	// Unchanged is set for a 304, sent by the server or made here: the page is
	// as it was when it last came. It is not set if a server sends a 304 that
	// nobody asked for, or that is about another version. Then ask again.
	Unchanged bool

	// Sent is false if the response was made here, and nothing was sent.
	Sent bool

	// Directives are those of the page, also where only a 304 came. Those of a
	// page that is being read are known as far as it was read.
	Directives robotsmeta.Directives

	// Since is when the page itself last came; zero means never, or that it was
	// forgotten.
	Since time.Time

	// Fresh is the time until which the page is fresh, so that requests for it
	// are answered here. Zero means that the next request is sent.
	Fresh time.Time
}

// Of returns the Visit of a response of a Transport, also where an http.Client
// has wrapped the body. It returns false for other responses, and for those
// that passed a Transport untouched, such as one to a POST.
func Of(resp *http.Response) (Visit, bool) {
	if resp == nil || resp.Request == nil {
		return Visit{}, false
	}
	v := visitOf(resp.Request)
	if v == nil {
		return Visit{}, false
	}
	says := v.says
	says.Directives = robotsmw.PageDirectives(resp).Directives
	return says, true
}

type visitKey struct{}

func visitOf(req *http.Request) *visit {
	v, _ := req.Context().Value(visitKey{}).(*visit)
	return v
}

// A visit is one request for a page.
type visit struct {
	base               http.RoundTripper
	pages              pages
	minFresh, maxFresh time.Duration

	key     string
	request *http.Request // the caller's
	began   time.Time
	known   known // before the request

	says Visit // without Directives; not changed once RoundTrip has returned
}

// answer makes a response from a version that is fresh.
func (v *visit) answer(ver *version) *http.Response {
	resp := &http.Response{
		StatusCode: int(ver.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 3), Body: http.NoBody,
	}
	ctx := context.WithValue(v.request.Context(), visitKey{}, v)
	v.says = Visit{Since: v.since(), Fresh: time.Unix(0, ver.Until)}
	if ver == v.known.Page {
		resp.StatusCode, v.says.Unchanged = http.StatusNotModified, true
		ctx = context.WithValue(ctx, robotspage.StandsFor{}, robotsmw.Page{Directives: ver.directives(), State: ver.State})
	}
	resp.Status = strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	for i, name := range headFields[:vary] {
		if value := ver.field(i); value != "" {
			resp.Header[name] = []string{value}
		}
	}
	resp.Request = v.request.WithContext(ctx)
	return resp
}

func (v *visit) since() time.Time {
	if v.known.Page == nil {
		return time.Time{}
	}
	return time.Unix(0, v.known.Page.Since)
}

// send asks the server, for a change if the page is known.
func (v *visit) send() (*http.Response, error) {
	out := v.request.WithContext(context.WithValue(v.request.Context(), visitKey{}, v))
	conditional := v.known.Page.answers(v.request) && v.known.Page.hasValidator()
	if conditional {
		out.Header = maps.Clone(out.Header)
		if out.Header == nil {
			out.Header = make(http.Header)
		}
		for i, name := range map[int]string{etag: "If-None-Match", modified: "If-Modified-Since"} {
			if value := v.known.Page.field(i); value != "" {
				out.Header[name] = []string{value}
			}
		}
	}
	resp, err := v.base.RoundTrip(out)
	if err != nil || resp == nil {
		return resp, err
	}
	if resp.Request == nil || visitOf(resp.Request) != v {
		resp.Request = out
	}
	v.says = Visit{Sent: true, Since: v.since()}
	v.learn(resp, conditional)
	return resp, nil
}

// learn notes what the answer says about the page.
func (v *visit) learn(resp *http.Response, conditional bool) {
	now := time.Now()
	says := freshness.Of(resp.Header, now)
	page := robotsmw.PageDirectives(resp)
	switch code := resp.StatusCode; {
	case code == http.StatusNotModified:
		if conditional {
			v.renew(resp, page, says, now)
		}
	case len(v.request.Header["Authorization"]) > 0 && !says.Public:
	case httpstatus.IsThrottled(code):
		v.keepAnswer(resp, v.known.Page, says, now)
	case page.Refusal.Sure: // not the page, whatever its status
	case code == http.StatusMovedPermanently, code == http.StatusPermanentRedirect, code == http.StatusNotFound, code == http.StatusGone:
		v.says.Since = time.Time{}
		v.keepAnswer(resp, nil, says, now)
	case code == http.StatusOK:
		v.await(resp, says, now)
	}
}

// renew notes a 304 that answers our validators (RFC 9111 §4.3.4).
func (v *visit) renew(resp *http.Response, says robotsmw.Page, fresh freshness.Freshness, now time.Time) {
	renewed := *v.known.Page
	if add := says.Directives; !includes(renewed.directives(), add) {
		renewed.setDirectives(renewed.directives().Union(add))
	}
	stands := robotsmw.Page{Directives: renewed.directives(), State: renewed.State}
	resp.Request = resp.Request.WithContext(context.WithValue(resp.Request.Context(), robotspage.StandsFor{}, stands))
	names, ok := varyOf(resp.Header)
	switch {
	case !renewed.isMeantBy(resp.Header):
		v.says.Since = time.Time{}
		v.put(known{})
		return
	case fresh.NoStore || !ok:
		v.says.Unchanged = true
		v.put(known{})
		return
	}
	v.says.Unchanged = true
	if len(resp.Header["Vary"]) > 0 {
		renewed.setField(vary, names)
		renewed.Variant = variantOf(v.request, names)
	}
	for i, name := range headFields[:location] {
		if value := single(resp.Header, name); value != "" {
			renewed.setField(i, value)
		}
	}
	if len(resp.Header["Cache-Control"]) > 0 || fresh.Stated {
		renewed.Lifetime, renewed.NoCache, renewed.Public = fresh.Lifetime, fresh.NoCache, fresh.Public
	}
	v.keepFresh(&renewed, fresh.Age, now)
	v.put(known{Page: &renewed})
}

// isMeantBy reports whether a 304 with this header is about this version: it
// names the same validator, or none.
func (v *version) isMeantBy(h http.Header) bool {
	if theirs, ours := single(h, "Etag"), v.field(etag); theirs != "" && ours != "" {
		return strings.TrimPrefix(theirs, "W/") == strings.TrimPrefix(ours, "W/")
	}
	theirs := single(h, "Last-Modified")
	return theirs == "" || v.field(etag) != "" || theirs == v.field(modified)
}

// includes reports whether all that b says was already said by a. A 304 repeats
// its X-Robots-Tag each time.
func includes(a, b robotsmeta.Directives) bool {
	said := slices.Collect(a.Rules())
	for rule := range b.Rules() {
		if !slices.Contains(said, rule) {
			return false
		}
	}
	return a.Truncated() || !b.Truncated()
}

// keepAnswer notes an answer other than the page, and what is left of the page.
// No answer is remembered that is not fresh.
func (v *visit) keepAnswer(resp *http.Response, page *version, says freshness.Freshness, now time.Time) {
	k := known{Page: page}
	if ver := v.newVersion(resp, says, now); ver != nil && ver.Until > now.UnixNano() {
		k.Answer = ver
	}
	if k != (known{}) || v.known != (known{}) {
		v.put(k)
	}
}

// await notes a 200. The old version is forgotten at once, and the new one is
// remembered when its body has ended.
func (v *visit) await(resp *http.Response, says freshness.Freshness, now time.Time) {
	if v.known != (known{}) {
		v.put(known{})
	}
	v.says.Since = now
	ver := v.newVersion(resp, says, now)
	if ver == nil || !ver.hasValidator() && ver.Until <= now.UnixNano() {
		return
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	own := *resp // whoever gets resp may give it another Request
	resp.Body = &body{ReadCloser: resp.Body, visit: v, version: ver, resp: &own}
}

// newVersion returns what a response says, without the directives of its body.
// It returns nil if the response may not be remembered.
func (v *visit) newVersion(resp *http.Response, says freshness.Freshness, now time.Time) *version {
	names, ok := varyOf(resp.Header)
	if says.NoStore || !ok {
		return nil
	}
	fields := make([]string, len(headFields))
	for i, name := range headFields[:vary] {
		fields[i] = single(resp.Header, name)
	}
	fields[vary] = names
	if fields[etag] == "" && mayMiss(fields[modified], fields[date], now) {
		fields[modified] = ""
	}
	ver := &version{
		Head: strings.Join(fields, "\n"), Variant: variantOf(v.request, names), Since: now.UnixNano(),
		Lifetime: says.Lifetime, Status: uint16(resp.StatusCode), NoCache: says.NoCache, Public: says.Public,
	}
	if len(ver.Head) > 8<<10 {
		return nil
	}
	v.keepFresh(ver, says.Age, now)
	return ver
}

// mayMiss reports whether a page with this Last-Modified may change without
// changing it: it came in the very second that it names.
func mayMiss(modified, date string, now time.Time) bool {
	changed, err := http.ParseTime(modified)
	if err != nil {
		return false
	}
	came, err := http.ParseTime(date)
	if err != nil {
		came = now
	}
	return came.Sub(changed) < time.Second
}

// keepFresh sets until when a version is fresh that has come, or was confirmed,
// just now.
func (v *visit) keepFresh(ver *version, age time.Duration, now time.Time) {
	const longest = 10 * 365 * 24 * time.Hour // no time overflows
	d := min(max(0, ver.Lifetime-age), longest)
	if d = max(d, v.minFresh); ver.NoCache {
		d = 0
	}
	if v.maxFresh > 0 {
		d = min(d, v.maxFresh)
	}
	ver.Until = now.Add(d).UnixNano()
	v.says.Fresh = ver.freshUntil(now)
}

// put remembers k, or forgets the page if k is zero.
func (v *visit) put(k known) {
	if k != (known{}) {
		k.Asked = v.began.UnixNano()
	}
	v.pages.put(v.key, k, v.began)
}

// A body is the body of a page that is remembered when the body ends.
type body struct {
	io.ReadCloser
	visit   *visit
	version *version
	resp    *http.Response
	ended   atomic.Bool
}

func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.end()
	case err != nil:
		b.ended.Store(true) // broken off: not the page
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

// end remembers the page, if all of its directives are known.
func (b *body) end() {
	if b.ended.Swap(true) {
		return
	}
	page := robotsmw.PageDirectives(b.resp)
	if page.State == robotsmw.PagePending || page.State == robotsmw.PagePartial || page.Refusal.Kind != 0 {
		return // what is not known may be a noindex
	}
	b.version.setDirectives(page.Directives)
	b.version.State = page.State
	b.visit.put(known{Page: b.version})
}
