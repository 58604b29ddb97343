package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// A logFormat writes requests as a server does.
type logFormat struct {
	name   string
	format string // the name in Formats
	header string // the beginning of a log
	line   func(hit) string
}

func (h hit) end() time.Time { return h.at.Add(h.took) }

// jsonLine returns a line of JSON with the given members, which are alternating
// names and values.
func jsonLine(members ...any) string {
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		value, err := json.Marshal(members[i+1])
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, `,%q:%s`, members[i], value)
	}
	return "{" + b.String()[1:] + "}"
}

func (h hit) nginxISO() string {
	return jsonLine("time_iso8601", h.end().Format(time.RFC3339), "remote_addr", h.address, "remote_user", "", "request", "GET "+h.url+" HTTP/1.1", "status", fmt.Sprint(h.status),
		"body_bytes_sent", "512", "request_time", fmt.Sprintf("%.3f", h.took.Seconds()), "http_referrer", "", "http_user_agent", h.agent, "host", h.host)
}

func (h hit) nginxMsec() string {
	return jsonLine("msec", fmt.Sprintf("%d.%03d", h.end().Unix(), h.end().UnixMilli()%1000), "request_time", fmt.Sprintf("%.3f", h.took.Seconds()), "remote_addr", h.address,
		"request_method", "GET", "request_uri", h.url, "server_name", h.host, "status", h.status, "http_user_agent", h.agent)
}

func (h hit) nginxLocal() string {
	return jsonLine("time_local", h.end().Format("02/Jan/2006:15:04:05 -0700"), "remote_addr", "10.0.0.1", "http_x_forwarded_for", h.address+", 10.0.0.2",
		"request", "GET "+h.url+" HTTP/1.1", "status", h.status, "http_user_agent", h.agent)
}

// nginxELK uses the names of Logstash, and times with a fraction of a second.
func (h hit) nginxELK() string {
	path, query, _ := strings.Cut(h.url, "?")
	return jsonLine("@timestamp", h.end().Format("2006-01-02T15:04:05.000Z07:00"), "clientip", h.address, "method", "GET", "uri", path, "args", query, "vhost", h.host,
		"upstream", map[string]any{"status": "500", "addr": []string{"10.0.0.1"}}, "response", h.status, "user_agent", h.agent, "request_time", h.took.Seconds())
}

func (h hit) traefik() string {
	return jsonLine("ClientAddr", h.address+":60162", "ClientHost", h.address, "ClientPort", "60162", "ClientUsername", "-", "DownstreamContentSize", 512, "DownstreamStatus", h.status,
		"Duration", h.took.Nanoseconds(), "RequestHost", h.host, "RequestMethod", "GET", "RequestPath", h.url, "RequestProtocol", "HTTP/1.1", "RequestScheme", "https",
		"StartUTC", h.at.UTC().Format(time.RFC3339Nano), "entryPointName", "websecure", "level", "info", "msg", "", "request_User-Agent", h.agent, "time", h.end().Format(time.RFC3339))
}

func (h hit) logpush() string {
	return jsonLine("ClientIP", h.address, "ClientRequestHost", h.host, "ClientRequestMethod", "GET", "ClientRequestURI", h.url, "ClientRequestUserAgent", h.agent,
		"EdgeStartTimestamp", h.at.UTC().Format(time.RFC3339), "EdgeEndTimestamp", h.end().UTC().Format(time.RFC3339), "EdgeResponseStatus", h.status, "RayID", "8f0c")
}

func (h hit) logpushNano() string {
	return jsonLine("ClientIP", h.address, "ClientRequestHost", h.host, "ClientRequestMethod", "GET", "ClientRequestURI", h.url, "ClientRequestUserAgent", h.agent,
		"EdgeStartTimestamp", h.at.UnixNano(), "EdgeEndTimestamp", h.end().UnixNano(), "EdgeResponseStatus", h.status)
}

func (h hit) alb() string {
	end := h.end().UTC()
	return fmt.Sprintf(`https %s app/lb/50dc6c495c0c9188 %s:2817 10.0.0.1:80 0.000 %.3f 0.000 %d %d 34 366 "GET https://%s:443%s HTTP/1.1" "%s" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:1:targetgroup/t/1 "Root=1-58337262-36d228ad5d99923122bbe354" "%s" "arn:aws:acm:us-east-2:1:certificate/1" 0 %s "forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1`,
		end.Format("2006-01-02T15:04:05.000000Z"), h.address, h.took.Seconds(), h.status, h.status, h.host, h.url, h.agent, h.host, h.at.UTC().Format("2006-01-02T15:04:05.000000Z"))
}

func (h hit) elb() string {
	return fmt.Sprintf(`%s lb %s:2817 10.0.0.1:80 0.000073 %f 0.000057 %d %d 0 29 "GET http://%s:80%s HTTP/1.1" "%s" - -`,
		h.end().UTC().Format("2006-01-02T15:04:05.000000Z"), h.address, h.took.Seconds(), h.status, h.status, h.host, h.url, h.agent)
}

const iisHeader = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-11-20 00:00:00\n" +
	"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) cs-host sc-status sc-substatus sc-win32-status time-taken\n"

func (h hit) iis() string {
	path, query, ok := strings.Cut(h.url, "?")
	if !ok {
		query = "-"
	}
	return fmt.Sprintf("%s 10.0.0.1 GET %s %s 443 - %s %s - %s %d 0 0 %d", h.end().UTC().Format("2006-01-02 15:04:05"), path, query, h.address,
		strings.ReplaceAll(h.agent, " ", "+"), h.host, h.status, h.took.Milliseconds())
}

const iisProxyHeader = "#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) sc-status X-Forwarded-For\n"

func (h hit) iisProxy() string {
	path, query, ok := strings.Cut(h.url, "?")
	if !ok {
		query = "-"
	}
	return fmt.Sprintf("%s GET %s %s 10.0.0.1 %s %d %s,+10.0.0.7", h.end().UTC().Format("2006-01-02 15:04:05"), path, query, strings.ReplaceAll(h.agent, " ", "+"), h.status, h.address)
}

const cloudFrontHeader = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) " +
	"x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for\n"

func (h hit) cloudFront() string {
	path, query, ok := strings.Cut(h.url, "?")
	if !ok {
		query = "-"
	}
	return strings.Join([]string{h.end().UTC().Format(time.DateOnly), h.end().UTC().Format(time.TimeOnly), "FRA2-C1", "512", h.address, "GET", "d111111abcdef8.cloudfront.net", path, fmt.Sprint(h.status),
		"-", url.PathEscape(h.agent), query, "-", "Hit", "SOX4xw==", h.host, "https", "128", fmt.Sprintf("%.3f", h.took.Seconds()), "-"}, "\t")
}

func shippedBy(prefix string, line func(hit) string) func(hit) string {
	return func(h hit) string { return prefix + line(h) }
}

func plainCombined(h hit) string { return h.combined("-") }

// logFormats contains all formats, some of them in several forms.
var logFormats = []logFormat{
	{"combined", FormatCombined, "", plainCombined},
	{"combined with times", FormatCombined, "", hit.precise},
	{"vhost_combined", FormatCombined, "", func(h hit) string { return h.host + ":443 " + h.combined("-") }},
	{"main", FormatCombined, "", func(h hit) string {
		return "10.0.0.1" + strings.TrimPrefix(h.combined("-"), h.address) + ` "` + h.address + `"`
	}},
	{"Traefik's combined", FormatCombined, "", func(h hit) string { return h.combined("-") + ` 17 "site@docker" "http://10.0.0.2:80" 5ms` }},
	{"syslog", FormatCombined, "", shippedBy("Nov 20 10:00:00 web-1 nginx: ", plainCombined)},
	{"RFC 5424", FormatCombined, "", shippedBy("<190>1 2026-11-20T10:00:00.000Z web-1 nginx 42 - - ", hit.precise)},
	{"Kubernetes", FormatCombined, "", shippedBy("2026-11-20T10:00:00.123456789Z stdout F ", plainCombined)},
	{"docker compose", FormatCombined, "", shippedBy("web-1  | ", hit.precise)},
	{"docker", "", "", func(h hit) string {
		return jsonLine("log", h.combined("-")+"\n", "stream", "stdout", "time", h.end().Format(time.RFC3339Nano))
	}},
	{"Caddy", FormatCaddy, "", hit.caddyFloat},
	{"nginx, time_iso8601", FormatNginx, "", hit.nginxISO},
	{"nginx, msec", FormatNginx, "", hit.nginxMsec},
	{"nginx, time_local", FormatNginx, "", hit.nginxLocal},
	{"nginx, names of logstash", FormatNginx, "", hit.nginxELK},
	{"Traefik", FormatTraefik, "", hit.traefik},
	{"Logpush", FormatLogpush, "", hit.logpush},
	{"Logpush, nanoseconds", FormatLogpush, "", hit.logpushNano},
	{"ALB", FormatALB, "", hit.alb},
	{"Classic Load Balancer", FormatALB, "", hit.elb},
	{"IIS", FormatW3C, iisHeader, hit.iis},
	{"IIS behind a proxy", FormatW3C, iisProxyHeader, hit.iisProxy},
	{"CloudFront", FormatW3C, cloudFrontHeader, hit.cloudFront},
}

// The results for a polite robot and for a guilty one are the same in every
// format.
func TestRead_Formats(t *testing.T) {
	hits := []hit{
		{morning, 5 * time.Millisecond, "192.0.2.1", "site.example", "PoliteBot/1.0 (a crawler; +https://polite.example/bot)", "/robots.txt", 200},
		{morning, 5 * time.Millisecond, "192.0.2.66", "site.example", "Mozilla/5.0 (compatible; GuiltyBot/2.1; +http://guilty.example/bot.html)", "/robots.txt", 200},
		{morning.Add(3 * time.Minute), 5 * time.Millisecond, "192.0.2.66", "site.example", "Mozilla/5.0 (compatible; GuiltyBot/2.1; +http://guilty.example/bot.html)", "/private/plan?b=1&c=%20d", 404},
		{morning.Add(time.Minute), 5 * time.Millisecond, "192.0.2.9", "site.example", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36", "/private/", 200},
		{morning.Add(time.Minute), 5 * time.Millisecond, "10.0.0.9", "site.example", "kube-probe/1.33", "/private/", 200},
	}
	hits = append(hits, pages("PoliteBot/1.0 (a crawler; +https://polite.example/bot)", "192.0.2.1", morning.Add(5*time.Minute), 40, every(10*time.Second))...)
	hits = append(hits, pages("Mozilla/5.0 (compatible; GuiltyBot/2.1; +http://guilty.example/bot.html)", "192.0.2.66", morning.Add(5*time.Minute), 40, every(4*time.Second))...)
	rules := always("User-agent: *\nDisallow: /private/\nCrawl-delay: 10\n")
	if len(logFormats) < 20 {
		t.Fatalf("there are %d formats, want at least 20", len(logFormats))
	}
	for _, format := range logFormats {
		t.Run(format.name, func(t *testing.T) {
			got := read(t, rules, format.header+linesOf(hits, format.line))
			wantAccused(t, got, "GuiltyBot disallowed", "GuiltyBot gap")
			for _, v := range got.violations {
				if v.Address != "192.0.2.66" {
					t.Fatalf("the violation has the address %q, want 192.0.2.66", v.Address)
				}
				url := v.URL
				url = strings.TrimPrefix(url, "https://site.example:443")
				url = strings.TrimPrefix(url, "http://site.example:80")
				if want := "/private/plan?b=1&c=%20d"; v.Kind == "disallowed" && url != want {
					t.Fatalf("the violation has the URL %q, want it to end with %q", v.URL, want)
				}
			}
			if n := got.result.Requests; n != len(hits) {
				t.Errorf("%d requests were read, want %d", n, len(hits))
			}
			for _, name := range []string{"broken", "jumps", "anonymous", "unnamed"} {
				if n := got.result.Counts[name]; n != 0 {
					t.Errorf("%s is %d, want 0", name, n)
				}
			}
			for _, name := range Formats() { // as another format, the log must not be readable
				if format.format == "" {
					break
				}
				var violations int
				a := Auditor{given: *rules, Format: name, OnViolation: func(Violation) { violations++ }}
				err := a.Read(t.Context(), Input{"log", strings.NewReader(format.header + linesOf(hits, format.line))})
				_, isUnknown := errors.AsType[*FormatError](err)
				isRead := err == nil && violations > 0
				isFormat := name == format.format
				if isRead != isFormat {
					t.Errorf("as %s: %d violations (error %v), want them to be found: %t", name, violations, err, isFormat)
				}
				if err != nil && !isUnknown {
					t.Errorf("as %s: got the error %v, want a FormatError", name, err)
				}
			}
		})
	}
}

func TestRead_NoSuchFormat(t *testing.T) {
	a := Auditor{Format: "iis"}
	err := a.Read(t.Context(), Input{"log", strings.NewReader("")})
	if !errors.Is(err, errNoFormat) {
		t.Fatalf("Read with an unknown format returned the error %v, want errNoFormat", err)
	}
	if want := "combined, caddy"; !strings.Contains(err.Error(), want) {
		t.Errorf("Read with an unknown format returned the error %q, want it to contain %q", err, want)
	}
}

// Each row is a line of a log, and the event that the parser returns for it.
func TestParser_Formats(t *testing.T) {
	const t0 = 1795168800 // 2026-11-20T10:00:00Z
	elb := hit{morning, time.Second, "192.0.2.1", "a.example", "Bot/1", "/a", 200}.elb()
	for _, tt := range []struct {
		name, header, line string
		// robot, method, host, url, client, status, begin, end and wait, in
		// seconds since t0; "error", "none" or "browser"
		want string
	}{
		{"msec before time", "", `{"msec":1795168801.5,"time":"2026-11-20T09:00:00Z","request":"HEAD /a HTTP/1.1","status":404,"http_user_agent":"Bot/1","remote_addr":"192.0.2.1"}`, "Bot HEAD  /a 192.0.2.1 404 ? 1.5 0"},
		{"another order", "", `{"http_user_agent":"Bot/1","remote_addr":"::1","request_time":"0.250","status":"200","request_uri":"/a?b","http_host":"A.example:443","msec":"1795168801.500"}`, "Bot GET a.example /a?b ::1 200 1.25 1.5 0"},
		{"spaces", "", ` { "time" : "2026-11-20T10:00:01.5Z" , "uri":"/a", "user_agent" : "Bot/1", "ip":"192.0.2.1" } `, "error"},
		{"spaces within", "", `{ "time" : "2026-11-20T10:00:01.5Z" , "uri":"/a", "user_agent" : "Bot/1", "ip":"192.0.2.1" } `, "Bot GET  /a 192.0.2.1 0 ? 1.5 0"},
		{"escapes", "", `{"time_iso8601":"2026-11-20T10:00:01+00:00","request":"GET \/a\"b HTTP\/1.1","http_user_agent":"Bot\/1 \"x\"","remote_addr":"192.0.2.1","status":200}`, `Bot GET  /a"b 192.0.2.1 200 ? 1 0`},
		{"nested members do not count", "", `{"time":"2026-11-20T10:00:01Z","x":{"uri":"/b","user_agent":"No/1","y":["}"]},"uri":"/a","user_agent":"Bot/1"}`, "Bot GET  /a  0 ? 1 0"},
		{"a value like a member", "", `{"time":"2026-11-20T10:00:01Z","http_referer":"\",\"uri\":\"/b\"","uri":"/a","user_agent":"Bot/1"}`, "Bot GET  /a  0 ? 1 0"},
		{"Retry-After", "", `{"msec":1795168801,"uri":"/a","user_agent":"Bot/1","status":429,"sent_http_retry_after":"120"}`, "Bot GET  /a  429 ? 1 120"},
		{"a default server", "", `{"msec":1795168801,"uri":"/a","user_agent":"Bot/1","server_name":"_"}`, "Bot GET  /a  0 ? 1 0"},
		{"milliseconds", "", `{"timestamp":1795168801500,"uri":"/a","user_agent":"Bot/1"}`, "Bot GET  /a  0 ? 1.5 0"},
		{"a browser", "", `{"msec":1795168801,"uri":"/a","user_agent":"Mozilla/5.0 Firefox/145.0"}`, "browser"},
		{"no time", "", `{"uri":"/a","user_agent":"Bot/1"}`, "error"},
		{"no URL", "", `{"msec":1795168801,"user_agent":"Bot/1"}`, "error"},
		{"an array", "", `["msec"]`, "error"},
		{"cut short", "", `{"msec":1795168801,"uri":"/a","user_agent":"Bot/1"`, "error"},
		{"two objects", "", `{"msec":1795168801,"uri":"/a","user_agent":"Bot/1"}{}`, "error"},
		{"no colon", "", `{"msec" 1795168801}`, "error"},
		{"no comma", "", `{"msec":1795168801 "uri":"/a"}`, "error"},
		{"an open array", "", `{"msec":[1795168801,"uri":"/a"}`, "error"},

		{"Traefik with a proxy", "", `{"ClientHost":"10.0.0.1","DownstreamStatus":429,"Duration":1500000000,"RequestHost":"A.example","RequestMethod":"POST","RequestPath":"/a","StartUTC":"2026-11-20T10:00:01.25Z","request_User-Agent":"Bot/1","request_X-Forwarded-For":"192.0.2.1, 10.0.0.9","downstream_Retry-After":"60"}`, "Bot POST a.example /a 192.0.2.1 429 1.25 2.75 60"},
		{"Traefik without a User-Agent", "", `{"ClientHost":"192.0.2.1","DownstreamStatus":200,"Duration":1,"RequestPath":"/a","StartUTC":"2026-11-20T10:00:01Z"}`, "nameless"},
		{"Traefik without a start", "", `{"ClientAddr":"[::1]:80","DownstreamStatus":200,"RequestPath":"/a","time":"2026-11-20T10:00:01Z","request_User-Agent":"Bot/1"}`, "Bot GET  /a ::1 200 ? 1 0"},
		{"Traefik without a path", "", `{"DownstreamStatus":200,"RequestPath":"","time":"2026-11-20T10:00:01Z","request_User-Agent":"Bot/1"}`, "error"},

		{"Logpush in seconds", "", `{"EdgeStartTimestamp":1795168801,"EdgeEndTimestamp":1795168803,"ClientIP":"2001:DB8::1","ClientRequestHost":"a.example","ClientRequestMethod":"GET","ClientRequestURI":"/a?b","ClientRequestUserAgent":"Bot/1","EdgeResponseStatus":200}`, "Bot GET a.example /a?b 2001:db8::1 200 1 3 0"},
		{"Logpush without an end", "", `{"EdgeStartTimestamp":"2026-11-20T10:00:01Z","ClientRequestPath":"/a","ClientRequestUserAgent":"Bot/1"}`, "Bot GET  /a  0 1 1 0"},
		{"Logpush without a URL", "", `{"EdgeStartTimestamp":"2026-11-20T10:00:01Z","ClientRequestUserAgent":"Bot/1"}`, "error"},
		{"Logpush with null", "", `{"EdgeStartTimestamp":"2026-11-20T10:00:01Z","ClientRequestURI":null,"ClientRequestUserAgent":"Bot/1"}`, "error"},

		{"a Classic Load Balancer", "", elb, "Bot GET a.example http://a.example:80/a 192.0.2.1 200 -0.00013 1 0"},
		{"a balancer without a target", "", `h2 2026-11-20T10:00:01.500000Z app/lb/5 192.0.2.1:2817 - -1 -1 -1 503 - 34 366 "GET https://a.example:443/a HTTP/2.0" "Bot/1" - - - "Root=1" "-" "-" 0 2026-11-20T10:00:01.250000Z "forward"`, "Bot GET a.example https://a.example:443/a 192.0.2.1 503 1.25 1.5 0"},
		{"a balancer's quotes", "", strings.Replace(elb, "Bot/1", `Bot/1 \"x\" [20/Nov/2026:10:00:00 +0000] `, 1), "Bot GET a.example http://a.example:80/a 192.0.2.1 200 -0.00013 1 0"},
		{"a balancer's client that is cut off", "", `https 2026-11-20T10:00:01.5Z app/lb/5 192.0.2.1:2817 - -1 -1 -1 400 - 0 0 "- http://a.example:80- -" "-" - - - "-" "-" "-" - 2026-11-20T10:00:01.5Z "-"`, "nameless"},
		{"a balancer's line cut short", "", elb[:len(elb)-20], "error"},

		{"IIS", "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) time-taken\n", "2026-11-20 10:00:01 192.0.2.1 GET /a+b - 200 Mozilla/5.0+(compatible;+Bot/1;++https://a.example) 250", "Bot GET  /a+b 192.0.2.1 200 0.75 1 0"},
		{"IIS without a query column", "#Fields: time date cs-uri-stem cs(User-Agent)\n", "10:00:01 2026-11-20 /a Bot/1", "Bot GET  /a  0 ? 1 0"},
		{"W3C with seconds", "#Fields: date time cs-uri time-taken cs(user-agent)\n", "2026-11-20 10:00:01 /a?b 0.5 Bot/1", "Bot GET  /a?b  0 0.5 1 0"},
		{"a new #Fields line", "#Fields: date time\n#Fields: date time cs-uri-stem cs(User-Agent)\n", "2026-11-20 10:00:01 /a Bot/1", "Bot GET  /a  0 ? 1 0"},
		{"a directive", "#Fields: date time\n", "#Date: 2026-11-20 10:00:01", "none"},
		{"too few columns", "#Fields: date time cs-uri-stem cs(User-Agent)\n", "2026-11-20 10:00:01 /a", "error"},
		{"no date", "#Fields: x time cs-uri-stem cs(User-Agent)\n", "2026-11-20 10:00:01 /a Bot/1", "error"},
		{"no User-Agent column", "#Fields: date time cs-uri-stem\n", "2026-11-20 10:00:01 /a", "nameless"},
		{"CloudFront that escapes twice", "#Fields: date time x-edge-location c-ip cs-method x-host-header cs-uri-stem sc-status cs(User-Agent) cs-uri-query\n", "2026-11-20\t10:00:01\tFRA\t2001:db8::1\tGET\tA.example\t/a\t000\tMozilla/5.0%2520(compatible;%2520Bot/1)\tb=c%20d", "Bot GET a.example /a?b=c%20d 2001:db8::1 0 ? 1 0"},
		{"a combined line in between", "#Fields: date time cs-uri-stem cs(User-Agent)\n", combined("10:00:01 Bot/1 /a"), "Bot GET  /a 192.0.2.1 200 ? 1 0"},

		{"docker", "", jsonLine("log", combined("10:00:01 Bot/1 /a"), "stream", "stdout", "time", "2026-11-20T10:00:05Z"), "Bot GET  /a 192.0.2.1 200 ? 1 0"},
		{"docker, an empty line", "", `{"log":"\n","stream":"stderr","time":"2026-11-20T10:00:05Z"}`, "none"},
		{"docker within docker", "", jsonLine("log", jsonLine("log", "x", "stream", "y"), "stream", "stdout"), "none"},
		{"docker, a message", "", `{"log":"2026/11/20 10:00:00 [notice] 1#1: start\n","stream":"stderr"}`, "error"},
	} {
		var p parser
		for line := range strings.Lines(tt.header) {
			if _, err := p.line([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.line(bytes.TrimRight([]byte(tt.line), "\n"))
		text := "none"
		switch e := got.event; {
		case err != nil:
			text = "error"
		case e != nil:
			begin := "?"
			if e.at < e.end || e.doubt == maxTransit {
				begin = fmt.Sprint(float64(e.at-t0*1e9) / 1e9)
			}
			method := "GET"
			if e.notGet {
				method = map[bool]string{true: "HEAD", false: "POST"}[strings.Contains(tt.line, "HEAD")]
			}
			text = fmt.Sprintf("%s %s %s %s %s %d %s %v %v", e.robot, method, e.host, e.url, e.address, e.status, begin, float64(e.end-t0*1e9)/1e9, float64(e.wait)/1e9)
		case got.isRequest && !got.hasAgent:
			text = "nameless"
		case got.isRequest:
			text = "browser"
		}
		if text != tt.want {
			t.Errorf("%s: got %s (error %v), want %s", tt.name, text, err, tt.want)
		}
	}
}

// In the concatenated W3C logs of three front ends, the lines after a #Fields
// line have its columns, also when the log is divided into parts.
func TestRead_W3CConcatenated(t *testing.T) {
	hits := gapHits()
	var logs []string
	for i := range 3 {
		var some []hit
		for j, h := range hits {
			if j%3 == i {
				some = append(some, h)
			}
		}
		name := []string{"IIS", "CloudFront"}[i%2]
		format := logFormats[slices.IndexFunc(logFormats, func(f logFormat) bool { return f.name == name })]
		logs = append(logs, format.header+linesOf(some, format.line))
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		log := logs[order[0]] + logs[order[1]] + logs[order[2]]
		got := read(t, always("User-agent: *\nCrawl-delay: 10\n"), log)
		wantAccused(t, got, "GuiltyBot gap")
		counts := got.result.Counts
		if got.result.Requests != len(hits) || counts["broken"] != 0 || counts["jumps"] != 0 {
			t.Errorf("got %d requests, %d broken lines and %d jumps, want %d, 0 and 0",
				got.result.Requests, counts["broken"], counts["jumps"], len(hits))
		}
	}
}

// For any line, in any format, a parser returns a valid event or an error. If
// the line is repeated, the result is the same. Both passes over a log read the
// same time.
func FuzzFormats(f *testing.F) {
	h := hit{morning, 5 * time.Millisecond, "192.0.2.1", "site.example", "Mozilla/5.0 (compatible; Bot/2.1; +http://bot.example/)", "/a?b", 200}
	for _, format := range logFormats {
		f.Add(format.header + format.line(h))
	}
	f.Fuzz(func(t *testing.T, log string) {
		for _, format := range append(Formats(), "") {
			var a Auditor
			a.init()
			p, survey := parser{format: format}, parser{format: format, surveys: true}
			for line := range strings.SplitSeq(log, "\n") {
				if strings.TrimSpace(line) == "" {
					continue
				}
				at, ok := a.survey(&survey, []byte(line), surveyedLines+1)
				got, err := p.line([]byte(line))
				again, err2 := p.line([]byte(line))
				if (err == nil) != (err2 == nil) || got.event != nil && *got.event != *again.event {
					t.Fatalf("%q: the first event is %+v (error %v), but the second is %+v (error %v), want the same", line, got.event, err, again.event, err2)
				}
				if err == nil && got.isRequest && (!ok || at != got.at) {
					t.Fatalf("%q: the first pass reads the time %d (ok %t), but the second %d, want the same", line, at, ok, got.at)
				}
				e := got.event
				if e == nil {
					continue
				}
				if e.robot == "" || e.url == "" && format != FormatALB || e.isAnonymous != (e.address == "") || e.at == never || e.wait < 0 {
					t.Fatalf("%q: the event %+v is invalid, want a robot, a URL, an address unless it is anonymous, a time, and no negative wait", line, e)
				}
			}
		}
	})
}
