package audit

import "strconv"

// This is a line of Cloudflare's Logpush, data set http_requests, with line
// breaks added. Cloudflare writes such a line for each request of a client,
// whether Cloudflare's cache or the site's server responds.
//
//	{"ClientIP":"192.0.2.1","ClientRequestHost":"example.com",
//	 "ClientRequestMethod":"GET","ClientRequestURI":"/a?b",
//	 "ClientRequestUserAgent":"ExampleBot/1.0",
//	 "EdgeStartTimestamp":"2026-11-20T10:00:00Z",
//	 "EdgeEndTimestamp":"2026-11-20T10:00:00Z","EdgeResponseStatus":200}
var logpushMembers = []string{
	"EdgeStartTimestamp", "EdgeEndTimestamp", "EdgeResponseStatus", "ClientIP",
	"ClientRequestHost", "ClientRequestMethod", "ClientRequestURI", "ClientRequestPath", "ClientRequestUserAgent",
}

func (m members) logpush() (*fields, error) {
	f := fields{begin: never, end: never, rounded: 1e6, isAtEdge: true}
	start := m["EdgeStartTimestamp"]
	var exact bool
	f.begin, exact = moment(start)
	if !exact || len(plain(start)) <= len("1795168800") {
		f.rounded = 1e9
	}
	f.end, _ = moment(m["EdgeEndTimestamp"])
	f.end = max(f.begin, f.end)
	f.url = m.first("ClientRequestURI", "ClientRequestPath")
	if f.begin == never || f.url == "" {
		return nil, errObject
	}
	f.agent = []byte(m.first("ClientRequestUserAgent"))
	f.peer = m.first("ClientIP")
	f.isClientKnown = true
	f.host = m.first("ClientRequestHost")
	f.method = m.first("ClientRequestMethod")
	f.status, _ = strconv.Atoi(m.first("EdgeResponseStatus"))
	return &f, nil
}
