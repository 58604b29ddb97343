package audit

import (
	"net/url"
	"slices"
	"strings"
)

// An exchange is a request and its answer. In a WARC file, these are two
// records near each other. Either of them may come first. Each may have the
// other's ID in its WARC-Concurrent-To.
type exchange struct {
	ids         []string // the IDs of its records, and of the records named in them
	url         string
	hasRequest  bool
	hasResponse bool
	event       event
}

// exchanges joins the requests and answers of a WARC file.
type exchanges struct {
	parser  parser
	agent   string          // the User-Agent in warcinfo, for answers without a request record
	pending []*exchange     // exchanges that lack one half, the oldest first
	hops    map[string]bool // URLs to which a request for robots.txt was redirected
}

const pendingExchanges = 64

// add takes a record. If the record completes an exchange, add passes the event
// of that exchange to each(). If too many exchanges are incomplete, add passes
// the event of the oldest one.
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
		return nil // such as the record of a DNS lookup
	}
	half := &exchange{url: r.TargetURI, hasRequest: r.kind == "request", hasResponse: r.kind != "request"}
	half.ids = append(slices.Clone(r.header["Warc-Concurrent-To"]), r.header["Warc-Record-Id"]...)
	half.event = event{at: r.Date.UnixNano(), end: never, rounded: r.rounded(), scheme: scheme, host: host, url: r.TargetURI}
	var err error
	if half.hasRequest {
		err = x.request(r, &half.event)
	} else {
		err = x.response(r, &half.event)
	}
	switch {
	case r.isCut():
		return nil // the next call of Next reports the error
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
		e.event.robot = "" // a hop on the way to a robots.txt is no page
	}
	each(&e.event)
}

// The method "named" reports whether e and other belong together: one is a
// request, the other is an answer, and they have a record ID in common. The IDs
// of a record are its own ID and those in its WARC-Concurrent-To.
func (e *exchange) named(other *exchange) bool {
	return e.hasRequest != other.hasRequest && slices.ContainsFunc(e.ids, func(id string) bool { return slices.Contains(other.ids, id) })
}

// The method "like" reports whether e and other may belong together: they are a
// request for a URL and an answer from the same URL, and neither of them names
// another record.
func (e *exchange) like(other *exchange) bool {
	return e.hasRequest != other.hasRequest && e.url == other.url && (len(e.ids) <= 1 && len(other.ids) <= 1)
}

// join completes an exchange with its other half. The date of the request's
// record is the start of the request. If the answer's record has a later date,
// that date is the end of the request.
func (e *exchange) join(half *exchange) {
	request, response := e, half
	if half.hasRequest {
		request, response = half, e
	}
	joined := request.event
	joined.status, joined.wait, joined.capture = response.event.status, response.event.wait, response.event.capture
	if response.event.at > joined.at {
		joined.end = response.event.at
	}
	e.event, e.hasRequest, e.hasResponse = joined, true, true
}

func (x *exchanges) request(r *WARCRecord, e *event) error {
	m, err := r.http()
	if err != nil {
		return err
	}
	e.robot = x.parser.agent([]byte(m.header.Get("User-Agent")))
	return nil
}

// response reads an answer: its status, and how long a Retry-After asks to
// wait. For a robots.txt it also reads the body, or the target of a redirect.
func (x *exchanges) response(r *WARCRecord, e *event) error {
	isFile := isRobots(r.TargetURI)
	if r.kind == "revisit" && !strings.HasSuffix(r.header.Get("Warc-Profile"), "/server-not-modified") {
		if isFile {
			e.capture = &capture{status: 304} // robots.txt has not changed
		}
		e.status = 200
		if r.header.Get("Content-Length") == "0" {
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

// redirect returns the origin of the robots.txt that a redirect leads to, and
// the URL that is requested next. Both are "" if the redirect leads nowhere. If
// the redirect leads to a path other than /robots.txt, the returned origin has
// the scheme "unknown". No robots.txt is known for such an origin.
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
		return "unknown://" + to.Host, to.String()
	}
	return to.Scheme + "://" + to.Host, to.String()
}

// warcinfo reads the crawler's User-Agent from a warcinfo record.
func (x *exchanges) warcinfo(r *WARCRecord) {
	m, err := r.http() // the block has fields like those of a header
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
// date of its record. For each record that it cannot use, AddWARC calls
// broken(err). It returns an error if it cannot read the rest of the file.
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
			continue // the next call of Next reports the error
		}
		if err != nil {
			broken(&WARCError{r.number, err})
			continue
		}
		h.add(scheme, host, r.Date.UnixNano(), e.capture)
	}
}
