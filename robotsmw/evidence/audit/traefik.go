package audit

import "strconv"

// Here is a line of Traefik, broken into several. It has the User-Agent only if
// accessLog.fields.headers keeps it.
//
//	{"ClientHost":"192.0.2.1","ClientAddr":"192.0.2.1:60162",
//	 "DownstreamStatus":200,"Duration":5000000,"RequestHost":"example.com",
//	 "RequestMethod":"GET","RequestPath":"/a","RequestScheme":"https",
//	 "StartUTC":"2026-11-20T10:00:00.123456789Z",
//	 "request_User-Agent":"ExampleBot/1.0","time":"2026-11-20T10:00:00Z"}
var traefikMembers = []string{
	"StartUTC", "StartLocal", "time", "Duration", "ClientHost", "ClientAddr", "RequestHost", "RequestAddr", "RequestMethod", "RequestPath",
	"DownstreamStatus", "request_User-Agent", "request_X-Forwarded-For", "downstream_Retry-After", "downstream_Date",
}

func (m members) traefik() (*fields, error) {
	f := fields{begin: never, end: never, rounded: 1e6}
	start, exact := moment([]byte(`"` + m.first("StartUTC", "StartLocal") + `"`))
	took, err := strconv.ParseInt(m.first("Duration"), 10, 64)
	switch {
	case start != never && err == nil && took >= 0 && took < 1e17:
		f.begin, f.end = start, start+took
	case start != never:
		f.begin, f.end = start, start
	default:
		f.end, exact = moment(m["time"])
	}
	if !exact {
		f.rounded = 1e9
	}
	f.url = m.first("RequestPath")
	if f.end == never || f.url == "" {
		return nil, errObject
	}
	f.agent = []byte(m.first("request_User-Agent"))
	f.peer, f.forwardedFor = m.first("ClientHost", "ClientAddr"), m.first("request_X-Forwarded-For")
	f.host, f.method = m.first("RequestHost", "RequestAddr"), m.first("RequestMethod")
	f.status, _ = strconv.Atoi(m.first("DownstreamStatus"))
	f.retryAfter, f.date = m.first("downstream_Retry-After"), m.first("downstream_Date")
	return &f, nil
}
