package audit

import (
	"net/url"
	"slices"
	"strings"
)

// An exchange is a request and its answer, as a WARC file has them: in records
// that are near each other, in either order, and that may name each other.
type exchange struct {
	ids         []string // of its records, and of those that they name
	url         string
	hasRequest  bool
	hasResponse bool
	event       event
}

// exchanges finds the records that belong together.
type exchanges struct {
	parser  parser
	agent   string          // the User-Agent of answers without a request record
	pending []*exchange     // exchanges that have one half, the oldest first
	hops    map[string]bool // URLs to which a request for robots.txt was redirected
}

const pendingExchanges = 64

// add takes a record. It calls each for the exchanges that are complete, and
// for those whose other half it no longer waits for.
func (x *exchanges) add(r *WARCRecord, each func(*event)) error {
	switch r.kind {
	case "warcinfo":
		x.warcinfo(r)
		return nil
	case "request", "response", "revisit":
	default:
		return nil
	}
	scheme, host := originOf(r.TargetURI)
	if scheme != "http" && scheme != "https" {
		return nil // such as a DNS lookup
	}
	half := &exchange{url: r.TargetURI, hasRequest: r.kind == "request", hasResponse: r.kind != "request"}
	half.ids = append(slices.Clone(r.header["Warc-Concurrent-To"]), r.header["Warc-Record-Id"]...)
	half.event = event{start: r.Date.UnixNano(), end: never, rounded: r.rounded(), scheme: scheme, host: host, url: r.TargetURI}
	var err error
	if half.hasRequest {
		err = x.request(r, &half.event)
	} else {
		err = x.response(r, &half.event)
	}
	switch {
	case r.isCut():
		return nil // as Next will say
	case err != nil:
		return &WARCError{r.number, err}
	}
	i := slices.IndexFunc(x.pending, func(other *exchange) bool { return half.named(other) })
	if i < 0 {
		i = slices.IndexFunc(x.pending, func(other *exchange) bool { return half.like(other) })
	}
	if i < 0 {
		x.pending = append(x.pending, half)
		if len(x.pending) > pendingExchanges {
			x.emit(0, each)
		}
		return nil
	}
	x.pending[i].join(half)
	x.emit(i, each)
	return nil
}

// flush calls each for all that are left, at the end of the file.
func (x *exchanges) flush(each func(*event)) {
	for len(x.pending) > 0 {
		x.emit(0, each)
	}
}

func (x *exchanges) emit(i int, each func(*event)) {
	e := x.pending[i]
	x.pending = slices.Delete(x.pending, i, i+1)
	if !e.hasRequest {
		e.event.robot = robotOf(x.agent)
	}
	if x.hops[e.url] && !isRobots(e.url) {
		e.event.robot = "" // a robots.txt was asked for, not a page
	}
	each(&e.event)
}

// named reports whether e and other are a request and an answer that have a
// record ID in common: their own, or one that they name in WARC-Concurrent-To.
func (e *exchange) named(other *exchange) bool {
	return e.hasRequest != other.hasRequest && slices.ContainsFunc(e.ids, func(id string) bool { return slices.Contains(other.ids, id) })
}

// like reports whether two halves may belong together, if they do not say so.
func (e *exchange) like(other *exchange) bool {
	return e.hasRequest != other.hasRequest && e.url == other.url && (len(e.ids) <= 1 && len(other.ids) <= 1)
}

// join completes an exchange. The request record says when it began, and the
// answer's record when the answer came.
func (e *exchange) join(half *exchange) {
	request, response := e, half
	if half.hasRequest {
		request, response = half, e
	}
	joined := request.event
	joined.status, joined.wait, joined.capture = response.event.status, response.event.wait, response.event.capture
	if response.event.start > joined.start {
		joined.end = response.event.start
	}
	e.event, e.hasRequest, e.hasResponse = joined, true, true
}

// request reads the User-Agent.
func (x *exchanges) request(r *WARCRecord, e *event) error {
	m, err := r.http()
	if err != nil {
		return err
	}
	e.robot = x.parser.agent([]byte(m.header.Get("User-Agent")))
	return nil
}

// response reads the answer. For robots.txt that is all of it, and for a page
// the time for which the site wants to be left alone.
func (x *exchanges) response(r *WARCRecord, e *event) error {
	isFile := isRobots(r.TargetURI)
	if r.kind == "revisit" && !strings.HasSuffix(r.get("Warc-Profile"), "/server-not-modified") {
		if isFile {
			e.capture = &capture{status: 304} // robots.txt is what it was before
		}
		e.status = 200
		if r.get("Content-Length") == "0" {
			return nil
		}
	}
	m, err := r.http()
	if err != nil {
		if r.kind == "revisit" {
			if e.status == 0 {
				e.status = 304
			}
			return nil
		}
		return err
	}
	if e.status, err = m.status(); err != nil {
		return err
	}
	if value := m.header.Get("Retry-After"); value != "" {
		e.wait = int64(retryAfter(value, m.header.Get("Date"), r.Date))
	}
	if !isFile || e.capture != nil {
		return nil
	}
	e.capture = &capture{status: e.status}
	switch e.status / 100 {
	case 2:
		e.capture.body, err = m.content()
	case 3:
		var hop string
		e.capture.to, hop = redirect(r.TargetURI, m.header.Get("Location"))
		if x.hops == nil || len(x.hops) >= cachedNames {
			x.hops = make(map[string]bool)
		}
		x.hops[hop] = true
	}
	return err
}

// redirect returns the origin to whose robots.txt a redirect leads, or "", and
// the URL that is requested next.
func redirect(from, location string) (origin, hop string) {
	base, err := url.Parse(from)
	if err != nil || location == "" {
		return "", ""
	}
	to, err := base.Parse(location)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" {
		return "", ""
	}
	to.Fragment = ""
	if to.Path != "/robots.txt" {
		return "unknown://" + to.Host, to.String() // nobody keeps what is there
	}
	return to.Scheme + "://" + to.Host, to.String()
}

// warcinfo reads the User-Agent of the software that wrote the file.
func (x *exchanges) warcinfo(r *WARCRecord) {
	m, err := r.http() // its block has fields as a header has
	if err != nil {
		return
	}
	if name, value, ok := strings.Cut(m.line, ":"); ok {
		m.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	x.agent = m.header.Get("Http-Header-User-Agent")
	if x.agent == "" {
		x.agent = m.header.Get("User-Agent")
	}
}

// AddWARC adds the robots.txt files of a WARC file. Each is in force from the
// date of its record on. It calls broken for each record that cannot be used.
func (h *History) AddWARC(w *WARCReader, broken func(error)) error {
	for {
		r, err := w.Next()
		if err != nil {
			if !goesOn(err, broken) {
				return atEnd(err)
			}
			continue
		}
		if r.kind != "response" || !isRobots(r.TargetURI) {
			continue
		}
		scheme, host := originOf(r.TargetURI)
		var x exchanges
		var e event
		err = x.response(r, &e)
		if r.isCut() {
			continue // as Next will say
		}
		if err != nil {
			broken(&WARCError{r.number, err})
			continue
		}
		h.add(scheme, host, r.Date.UnixNano(), e.capture)
	}
}
