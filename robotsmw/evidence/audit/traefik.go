package audit

import "strconv"

// This is a line of Traefik, with line breaks added. It contains the User-Agent
// only if accessLog.fields.headers keeps that field.
//
//	{"ClientHost":"192.0.2.1","ClientAddr":"192.0.2.1:60162",
//	 "DownstreamStatus":200,"Duration":5000000,"RequestHost":"example.com",
//	 "RequestMethod":"GET","RequestPath":"/a","RequestScheme":"https",
//	 "StartUTC":"2026-11-20T10:00:00.123456789Z",
//	 "request_User-Agent":"ExampleBot/1.0","time":"2026-11-20T10:00:00Z"}
var traefikMembers = []string{
	"StartUTC", "StartLocal", "time", "Duration", "ClientHost", "ClientAddr",
	"RequestHost", "RequestAddr", "RequestMethod", "RequestPath", "DownstreamStatus",
	"request_User-Agent", "request_X-Forwarded-For", "downstream_Retry-After", "downstream_Date",
}

func (m members) traefik() (*fields, error) {
	f := fields{begin: never, end: never, rounded: 1e6}
	start, exact := moment([]byte(`"` + m.first("StartUTC", "StartLocal") + `"`))
	if start == never {
		f.end, exact = moment(m["time"])
	} else {
		f.begin = start
		f.end = start + traefikDuration(m)
	}
	if !exact {
		f.rounded = 1e9
	}
	f.url = m.first("RequestPath")
	if f.end == never || f.url == "" {
		return nil, errObject
	}
	f.agent = []byte(m.first("request_User-Agent"))
	f.peer = m.first("ClientHost", "ClientAddr")
	f.forwardedFor = m.first("request_X-Forwarded-For")
	f.host = m.first("RequestHost", "RequestAddr")
	f.method = m.first("RequestMethod")
	f.status, _ = strconv.Atoi(m.first("DownstreamStatus"))
	f.retryAfter = m.first("downstream_Retry-After")
	f.date = m.first("downstream_Date")
	return &f, nil
}

// traefikDuration returns the duration of the request in nanoseconds, or 0 if
// it is unknown or impossible.
func traefikDuration(m members) int64 {
	const limit = 1e17 // about three years
	duration, err := strconv.ParseInt(m.first("Duration"), 10, 64)
	if err != nil || duration < 0 || duration >= limit {
		return 0
	}
	return duration
}
