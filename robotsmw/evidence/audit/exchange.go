package audit

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"
)

// A half is the request or the response of an exchange. In a WARC file, these
// are two records near each other, in either order. Each may contain the
// other's ID in its WARC-Concurrent-To.
type half struct {
	ids       []string // the IDs of the record, and of the records in its WARC-Concurrent-To
	isRequest bool
	event     *event
}

// exchanges joins the requests and responses of a WARC file.
type exchanges struct {
	each    func(*event)
	parser  parser
	agent   string                     // the User-Agent in warcinfo, for responses without a request record
	pending []*half                    // those that lack the other half, the oldest first
	hops    map[[sha256.Size]byte]bool // hashes of URLs to which a request for robots.txt was redirected
}

const maxPending = 64

// add adds a record. If the record completes an exchange, add passes the event
// of that exchange to each. If too many exchanges are incomplete, add passes
// the event of the oldest half.
func (x *exchanges) add(r *warcRecord) error {
	if r.kind == "warcinfo" {
		x.warcinfo(r)
		return nil
	}
	scheme, host := splitOrigin(r.target)
	isHTTP := scheme == "http" || scheme == "https"
	isAnswer := r.kind == "response" || r.kind == "revisit"
	isRequest := r.kind == "request"
	if !isHTTP || !isRequest && !isAnswer {
		return nil // such as the record of a DNS lookup
	}
	h := &half{
		ids:       append(slices.Clone(r.header["Warc-Concurrent-To"]), r.header["Warc-Record-Id"]...),
		isRequest: isRequest,
		event: &event{
			at:       r.date.UnixNano(),
			end:      never,
			rounded:  r.rounded(),
			scheme:   scheme,
			host:     host,
			url:      r.target,
			isAtEdge: true,
		},
	}
	var err error
	if isRequest {
		err = x.request(r, h.event)
	} else {
		err = x.response(r, h.event)
	}
	if r.block.cut {
		return nil // the next call of warcReader.next reports the error
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(x.pending, h.matchesByID)
	if i < 0 {
		i = slices.IndexFunc(x.pending, h.matchesByURL)
	}
	if i >= 0 {
		other := x.pending[i]
		x.pending = slices.Delete(x.pending, i, i+1)
		x.emit(h.join(other))
		return nil
	}
	x.pending = append(x.pending, h)
	if len(x.pending) > maxPending {
		x.emit(x.pending[0])
		x.pending = slices.Delete(x.pending, 0, 1)
	}
	return nil
}

// emit calls x.each with the event of an exchange, or of a half whose other
// half is missing.
func (x *exchanges) emit(h *half) {
	if !h.isRequest {
		h.event.robot = robotName(x.agent)
		h.event.hasAgent = x.agent != ""
	}
	isHop := x.hops[sha256.Sum256([]byte(h.event.url))] && !isRobots(h.event.url)
	if isHop {
		h.event.robot = "" // a hop on the way to a robots.txt is not a page
	}
	x.each(h.event)
}

// matchesByID reports whether a request and a response belong together, because
// they have a record ID in common.
func (h *half) matchesByID(other *half) bool {
	if h.isRequest == other.isRequest {
		return false
	}
	return slices.ContainsFunc(h.ids, func(id string) bool { return slices.Contains(other.ids, id) })
}

// matchesByURL reports whether a request and a response belong together,
// because they have the same URL, and neither contains the ID of another
// record.
func (h *half) matchesByURL(other *half) bool {
	if h.isRequest == other.isRequest || h.event.url != other.event.url {
		return false
	}
	return len(h.ids) <= 1 && len(other.ids) <= 1
}

// join returns the request with the data of its response. The date of the
// request's record is the start of the request. If the response's record has a
// later date, that date is the end of the request.
func (h *half) join(other *half) *half {
	if !h.isRequest {
		return other.join(h)
	}
	e := h.event
	answer := other.event
	e.status = answer.status
	e.wait = answer.wait
	e.capture = answer.capture
	if answer.at > e.at {
		e.end = answer.at
	}
	return h
}

// request reads a request: its method and its User-Agent.
func (x *exchanges) request(r *warcRecord, e *event) error {
	m, err := r.http()
	if err != nil {
		return err
	}
	agent := m.header.Get("User-Agent")
	e.robot = x.parser.agent([]byte(agent))
	e.hasAgent = agent != ""
	e.notGet = !strings.HasPrefix(m.line, "GET ")
	return nil
}

// response reads a response: its status and the delay of a Retry-After. For a
// robots.txt, it also reads the body, or the target of a redirect.
func (x *exchanges) response(r *warcRecord, e *event) error {
	isFile := isRobots(r.target)
	if r.kind == "revisit" {
		e.status = 304
		if !strings.HasSuffix(r.header.Get("Warc-Profile"), "/server-not-modified") {
			if isFile {
				e.capture = &capture{status: 304} // robots.txt has not changed
			}
			e.status = 200
			if r.header.Get("Content-Length") == "0" {
				return nil
			}
		}
	}
	m, err := r.http()
	if err != nil || m.status == 0 {
		if r.kind == "revisit" {
			return nil
		}
		return cmp.Or(err, errHTTP)
	}
	e.status = m.status
	if value := m.header.Get("Retry-After"); value != "" {
		e.wait = int64(retryAfter(value, m.header.Get("Date"), r.date))
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
		e.capture.to, hop = redirect(r.target, m.header.Get("Location"))
		if x.hops == nil || len(x.hops) >= maxCacheEntries {
			x.hops = make(map[[sha256.Size]byte]bool)
		}
		x.hops[sha256.Sum256([]byte(hop))] = true
	}
	return err
}

// redirect returns the origin of the robots.txt to which a redirect leads, and
// the URL that is requested next. Both are "" if the target is missing,
// invalid, or not an http or https URL. If the redirect leads to a path other
// than /robots.txt, the returned origin has the scheme "unknown". No robots.txt
// is known for such an origin.
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

// warcinfo reads the crawler's User-Agent from a warcinfo record, whose block
// has fields like those of a header.
func (x *exchanges) warcinfo(r *warcRecord) {
	m, err := r.http()
	if err != nil {
		return
	}
	if name, value, ok := strings.Cut(m.line, ":"); ok {
		m.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	x.agent = cmp.Or(m.header.Get("Http-Header-User-Agent"), m.header.Get("User-Agent"))
}
