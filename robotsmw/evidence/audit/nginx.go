package audit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// This is a line of nginx with a log_format that has escape=json, with line
// breaks added. The names of the members are configured on each server; most
// are those of nginx's variables.
//
//	{"time_iso8601":"2026-11-20T10:00:00+00:00","msec":"1795168800.123",
//	 "remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":"200",
//	 "http_user_agent":"ExampleBot/1.0","request_time":"0.005"}

// Each list contains names for one member, the preferred one first.
var (
	nginxExactTimes = []string{"msec"}
	nginxTimes      = []string{
		"time_iso8601", "@timestamp", "timestamp", "time_local",
		"time", "datetime", "date", "ts",
	}
	nginxAgents = []string{
		"http_user_agent", "user_agent", "useragent", "userAgent",
		"agent", "user-agent", "User-Agent", "ua",
	}
	nginxClients = []string{
		"remote_addr", "remote_ip", "remoteAddr", "client_ip", "clientip", "clientIp",
		"client", "ip", "remote", "remote_host",
	}
	nginxForwarded = []string{
		"http_x_forwarded_for", "x_forwarded_for", "forwarded_for", "xff", "x-forwarded-for", "X-Forwarded-For",
		"proxy_add_x_forwarded_for", "http_x_real_ip", "http_cf_connecting_ip",
	}
	nginxRequests   = []string{"request", "request_line"}
	nginxMethods    = []string{"request_method", "method", "verb", "requestMethod"}
	nginxURLs       = []string{"request_uri", "uri", "url", "path", "request_path", "requestUri"}
	nginxQueries    = []string{"args", "query_string", "query"}
	nginxHosts      = []string{"host", "http_host", "vhost", "domain", "server_name"}
	nginxStatuses   = []string{"status", "status_code", "response", "response_code"}
	nginxDurations  = []string{"request_time"}
	nginxRetryAfter = []string{"sent_http_retry_after", "upstream_http_retry_after"}

	nginxMembers = slices.Concat(
		nginxExactTimes, nginxTimes, nginxAgents, nginxClients, nginxForwarded,
		nginxRequests, nginxMethods, nginxURLs, nginxQueries, nginxHosts,
		nginxStatuses, nginxDurations, nginxRetryAfter,
	)
)

func (m members) nginx() (*fields, error) {
	f := fields{begin: never, end: never, rounded: 1e9}
	f.end, f.rounded = m.nginxTime()
	if f.end == never {
		return nil, errObject
	}
	f.method, f.url = m.nginxRequest()
	if f.url == "" {
		return nil, errObject
	}
	f.agent = []byte(m.first(nginxAgents...))
	f.peer = m.first(nginxClients...)
	f.forwardedFor = m.first(nginxForwarded...)
	f.host = m.first(nginxHosts...)
	if f.host == "_" || f.host == "localhost" { // the server_name of a default server is not a host
		f.host = ""
	}
	f.status, _ = strconv.Atoi(m.first(nginxStatuses...))
	f.retryAfter = m.first(nginxRetryAfter...)
	if duration, ok := parseDuration([]byte(m.first(nginxDurations...))); ok {
		f.begin = f.end - duration
	}
	return &f, nil
}

// nginxTime returns the time at which the request ended, or "never", and how
// much it may have been rounded down, in nanoseconds.
func (m members) nginxTime() (end, rounded int64) {
	if exact := m.first(nginxExactTimes...); exact != "" {
		if end, _ := moment([]byte(exact)); end != never {
			return end, 1e6
		}
	}
	for _, name := range nginxTimes {
		value := m[name]
		if value == nil {
			continue
		}
		end, exact := moment(value)
		isWhole := exact && bytes.IndexByte(value, '.') < 0 && len(plain(value)) <= len("1795168800")
		if end != never && exact && !isWhole {
			return end, 1e6
		}
		if end != never {
			return end, 1e9
		}
	}
	return never, 1e9
}

// nginxRequest returns the method and the URL of the request, or "" if the line
// does not contain them.
func (m members) nginxRequest() (method, url string) {
	if line := m.first(nginxRequests...); line != "" {
		if method, url, ok := parseRequest([]byte(line)); ok {
			return method, url
		}
	}
	method = m.first(nginxMethods...)
	url = m.first(nginxURLs...)
	query := m.first(nginxQueries...)
	hasQuery := strings.Contains(url, "?")
	if url != "" && query != "" && !hasQuery {
		url += "?" + query
	}
	return method, url
}
