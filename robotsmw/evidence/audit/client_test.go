package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// In the logs of shippers and of servers behind proxies, "address web-1" or
// "Nov" must not be taken for the client: several clients would become a single
// one that is too fast. In "client, proxy", the client must not be taken for
// the host: the robots.txt of the site would not apply to the request.
func TestIdentify(t *testing.T) {
	for _, tt := range []struct{ names, host, client string }{
		{"192.0.2.1 - -", "", "192.0.2.1"},
		{"192.0.2.1 - frank", "", "192.0.2.1"},
		{"192.0.2.1 - John Smith", "", "192.0.2.1"},
		{"192.0.2.1 - 198.51.100.7 - x", "", "192.0.2.1"}, // the name of the user contains an address
		{"192.0.2.1", "", "192.0.2.1"},
		{"2001:DB8::1 - -", "", "2001:db8::1"},
		{"192.0.2.1:60162 - -", "", "192.0.2.1"},
		{"[2001:db8::1]:60162 - -", "", "2001:db8::1"},
		{"[2001:db8::1] - -", "", "2001:db8::1"},
		{"::ffff:192.0.2.1 - -", "", "192.0.2.1"},
		{"fe80::1%eth0 - -", "", "fe80::1"},

		// A name is the first of exactly three words.
		{"client.example - -", "", "client.example"},
		{"localhost - frank", "", "localhost"},
		{"web-1 nginx: - -", "", ""},
		{"client.example - John Smith", "", ""},
		{"client.example -", "", ""},

		// The client is unknown.
		{"- - -", "", ""},
		{"unix: - -", "", ""},
		{"unix:/run/nginx.sock - -", "", ""},
		{"unknown - -", "", ""},
		{"0.0.0.0 - -", "", ""},
		{"", "", ""},

		// The requested host precedes the client.
		{"a.example:443 192.0.2.1 - -", "a.example", "192.0.2.1"},
		{"A.example. 192.0.2.1 - frank", "a.example", "192.0.2.1"},
		{"a.example:8080 192.0.2.1:60162 - -", "a.example:8080", "192.0.2.1"},
		{"198.51.100.7:80 192.0.2.1 - -", "198.51.100.7", "192.0.2.1"},
		{"localhost:8080 192.0.2.1 - -", "localhost:8080", "192.0.2.1"},
		{"web-1 192.0.2.1 - -", "", "192.0.2.1"},
		{"a.example:80 unix: - -", "a.example", ""},
		{"a.example:443 - - -", "a.example", ""},
		{"Nov 20 10:00:00 web-1 nginx: 2001:db8::1 - a b", "", "2001:db8::1"}, // the name of the user contains a space
		{"::%1 - a b", "", ""},
		{"unix: - John Smith", "", ""},

		// The client is behind proxies.
		{"192.0.2.1, 10.0.0.1 - -", "", "192.0.2.1"},
		{"192.0.2.1, 198.51.100.7, 10.0.0.1 - -", "", "192.0.2.1"},
		{"10.1.2.3, 192.0.2.1, 10.0.0.1 - -", "", "192.0.2.1"},
		{"unknown, 10.0.0.1 - -", "", ""},
		{"10.0.0.1 192.0.2.1 - -", "", "192.0.2.1"},
		{"192.0.2.1 10.0.0.1 - -", "", "192.0.2.1"},
		{"10.0.0.1 192.0.2.1, 198.51.100.7 - -", "", "192.0.2.1"},
		{"192.0.2.1 198.51.100.7 - -", "", "192.0.2.1 198.51.100.7"},
		{"a.example:80 192.0.2.1, 10.0.0.1 - -", "a.example", "192.0.2.1"},

		// A log shipper has added a prefix.
		{"Nov 20 10:00:00 web-1 nginx: 192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov  2 10:00:00 web-1 nginx[42]: 192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 10.0.0.5 nginx: 192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 10.0.0.5 192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 web-1 nginx: client.example - -", "", "client.example"},
		{"Nov 20 10:00:00 web-1 nginx: a.example:443 192.0.2.1 - -", "a.example", "192.0.2.1"},
		{"<190>Nov 20 10:00:00 web-1 nginx: 192.0.2.1 - -", "", "192.0.2.1"},
		{"<190>1 2026-11-20T10:00:00.000Z 10.0.0.5 nginx 42 - - 192.0.2.1 - -", "", "192.0.2.1"},
		{`<190>1 2026-11-20T10:00:00Z 10.0.0.5 - - - [meta a="b c"][x y="z"] 192.0.2.1 - -`, "", "192.0.2.1"},
		{"<190>1 2026-11-20T10:00:00Z web-1 nginx - - - \ufeff192.0.2.1 - -", "", "192.0.2.1"},
		{"<190>1 - 10.0.0.5 - - - - client.example - -", "", "client.example"},
		{"2026-11-20T10:00:00.123456+01:00 web-1 nginx: 192.0.2.1 - -", "", "192.0.2.1"},
		{"2026-11-20T10:00:00+0000 10.0.0.5 nginx[42]: 192.0.2.1 - -", "", "192.0.2.1"},
		{"2026-11-20T10:00:00.123456789Z stdout F 192.0.2.1 - -", "", "192.0.2.1"},
		{"2026-11-20T10:00:00.1Z stderr P client.example - -", "", "client.example"},
		{"2026-11-20T10:00:00.1Z 192.0.2.1 - -", "", "192.0.2.1"},
		{"web-1  | 192.0.2.1 - -", "", "192.0.2.1"},
		{"web-1  | 2026-11-20T10:00:00.1Z client.example - -", "", "client.example"},
		{"[pod/web-1/nginx] client.example - -", "", "client.example"},
		{"web-1 nginx 192.0.2.1 - -", "", "192.0.2.1"}, // stern
		{"7711561783320576\t2026-11-20T10:00:00Z\t2026-11-20T10:00:00Z\t2\tweb-1\t10.0.0.5\tLocal0\tInfo\tnginx\t192.0.2.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 web-1 nginx: 192.0.2.1, 10.0.0.1 - -", "", "192.0.2.1"},
		{"Nov 20 10:00:00 web-1 nginx: - - -", "", ""},
		{"Nov 20 10:00:00 web-1 nginx: unix: - -", "", ""},
	} {
		if got := new(parser).identify([]byte(tt.names)); got.host != tt.host || got.client != tt.client {
			t.Errorf("identify(%q) returns the host %q and the client %q, want %q and %q", tt.names, got.host, got.client, tt.host, tt.client)
		}
	}
}

// shipped contains prefixes that log shippers write.
var shipped = []string{
	"Nov 20 10:00:00 web-1 nginx: ", "Nov 20 10:00:00 10.0.0.5 nginx[42]: ", "<190>Nov 20 10:00:00 web-1 nginx: ",
	"<190>1 2026-11-20T10:00:00.000Z web-1 nginx 42 - - ", `<190>1 2026-11-20T10:00:00Z 10.0.0.5 - - - [meta a="b"] `,
	"2026-11-20T10:00:00.123456+00:00 web-1 nginx: ", "2026-11-20T10:00:00.123456789Z stdout F ", "web-1  | ", "nginx_1 | 2026-11-20T10:00:00.1Z ",
	"[pod/web-1/nginx] ", "2\tweb-1\t10.0.0.5\tnginx\t",
}

// isNotLogged reports whether a character cannot be part of a user's name in a
// log, because servers escape it or log shippers use it as a separator.
func isNotLogged(r rune) bool {
	return r == '"' || r == '|' || unicode.IsControl(r) || unicode.IsSpace(r) && r != ' '
}

// FuzzIdentify checks that no prefix of a log shipper changes the client.
func FuzzIdentify(f *testing.F) {
	f.Add("192.0.2.1", "frank")
	f.Add("2001:db8::1", "a 198.51.100.7 - b")
	f.Add("192.0.2.1, 10.0.0.1", "-")
	f.Add("[::1]:80", `\\x22 [x/y] | <190>1 Nov 20 10:00:00`)
	f.Fuzz(func(t *testing.T, client, user string) {
		names := client + " - " + user
		want := new(parser).identify([]byte(names))
		_, isAddress := parseAddress([]byte(client))
		isLogged := !strings.ContainsFunc(client+user, isNotLogged) && !strings.Contains(client, " ")
		isNamed := user != "" && user[0] != ' '
		if !isAddress || !isLogged || !isNamed {
			return // identify may return any result, but must not panic
		}
		if want.client == "" || want.host != "" {
			t.Errorf("identify(%q) = %+v, want a client and no host", names, want)
		}
		for _, prefix := range shipped {
			if got := new(parser).identify([]byte(prefix + names)); got != want {
				t.Errorf("identify(%q) = %+v, want %+v", prefix+names, got, want)
			}
		}
	})
}

// gapHits returns the requests of GuiltyBot, which is too fast, and of
// PoliteBot, which has 20 machines with different addresses. Each machine obeys
// a Crawl-delay of 10 seconds.
func gapHits() []hit {
	hits := pages("GuiltyBot/1.0", "192.0.2.66", morning, 30, every(2*time.Second))
	for i := range 20 {
		hits = append(hits, pages("PoliteBot/1.0", fmt.Sprintf("192.0.2.%d", i+1), morning.Add(time.Duration(i)*time.Second), 10, every(10*time.Second))...)
	}
	return hits
}

// A prefix of a log shipper, a list of proxies or a port changes neither the
// robots for which violations are reported, nor the addresses in the
// violations.
func TestRead_ClientsOfOtherForms(t *testing.T) {
	forms := map[string]func(i int, line string) string{
		"a list": func(_ int, line string) string { return strings.Replace(line, " - - ", ", 10.0.0.1 - - ", 1) },
		"a list, main": func(_ int, line string) string {
			return "10.0.0.1" + line[strings.Index(line, " "):] + ` "` + line[:strings.Index(line, " ")] + `"`
		},
		"two proxies": func(_ int, line string) string {
			return "10.0.0.1" + line[strings.Index(line, " "):] + ` "` + line[:strings.Index(line, " ")] + `, 10.0.0.7"`
		},
		"main, then times": func(_ int, line string) string {
			end := strings.LastIndexByte(line, '"') + 1
			return "10.0.0.1" + line[strings.Index(line, " "):end] + ` "` + line[:strings.Index(line, " ")] + `"` + line[end:]
		},
		"another port for each request": func(i int, line string) string { return strings.Replace(line, " ", fmt.Sprintf(":%d ", 40000+i), 1) },
		"a host":                        func(_ int, line string) string { return "site.example:443 " + line },
	}
	for _, prefix := range shipped {
		forms[prefix] = func(_ int, line string) string { return prefix + line }
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			for i, line := range strings.Split(strings.TrimSpace(linesOf(gapHits(), hit.precise)), "\n") {
				log.WriteString(form(i, line) + "\n")
			}
			got := read(t, always("User-agent: *\nCrawl-delay: 10\n"), log.String())
			wantAccused(t, got, "GuiltyBot gap")
			if i := slices.IndexFunc(got.violations, func(v Violation) bool { return v.Address != "192.0.2.66" }); i >= 0 {
				t.Errorf("the violation %+v has another address, want 192.0.2.66", got.violations[i])
			}
			counts := got.result.Counts
			if counts["anonymous"] != 0 || counts["broken"] != 0 {
				t.Errorf("%d requests are anonymous and %d lines broken, want 0 and 0", counts["anonymous"], counts["broken"])
			}
		})
	}
}

// Requests from an address that represents many clients prove no gap, and are
// counted as anonymous. A request for a disallowed page is a violation from any
// address.
func TestRead_Anonymous(t *testing.T) {
	hits := gapHits()
	robots := []string{"PoliteBot/1.0", "GuiltyBot/1.0", "OtherBot/1.0", "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0"}
	for i := range 4 {
		robots = append(robots, fmt.Sprintf("Visitor%d/1.0", i))
	}
	for i, agent := range robots[2:] {
		hits = append(hits, hit{morning.Add(time.Duration(i) * time.Second), 0, "192.0.2.99", "", agent, "/a", 200})
	}
	hits = append(hits, hit{morning.Add(time.Hour), 0, "192.0.2.66", "", "GuiltyBot/1.0", "/private/a", 200})
	for _, address := range []string{"-", "unix:", "unknown", "10.0.0.1", "203.0.113.7"} {
		all := slices.Clone(hits)
		for i := range all {
			all[i].address = address
		}
		got := read(t, always("User-agent: *\nCrawl-delay: 10\nDisallow: /private/\n"), linesOf(all, hit.precise))
		wantAccused(t, got, "GuiltyBot disallowed")
		if n := got.result.Counts["anonymous"]; n != len(all)-1 { // all but the request of the browser
			t.Errorf("%s: %d requests are anonymous, want %d", address, n, len(all)-1)
		}
		if v := got.violations[0]; v.Address != "" {
			t.Errorf("%s: the violation has the address %q, want none", address, v.Address)
		}
	}
	// An address with two robots does not represent many clients.
	few := slices.Clone(hits[:30])
	for i := range few {
		few[i].address = "10.0.0.1"
		few[i].agent = fmt.Sprintf("Bot%d/1.0", i%2)
	}
	wantAccused(t, read(t, always("User-agent: *\nCrawl-delay: 10\n"), linesOf(few, hit.precise)), "Bot0 gap", "Bot1 gap")
}

// If some lines contain a client behind the address of a proxy, that address
// represents many clients in the other lines, too.
func TestRead_ProxyThatNamesSomeClients(t *testing.T) {
	var log strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(linesOf(pages("PoliteBot/1.0", "10.0.0.1", morning, 40, every(time.Second)), hit.precise)), "\n") {
		forwarded := "-"
		if i%4 == 0 {
			forwarded = fmt.Sprintf("192.0.2.%d", i)
		}
		log.WriteString(line + ` "` + forwarded + "\"\n")
	}
	got := read(t, always("User-agent: *\nCrawl-delay: 10\n"), log.String())
	wantAccused(t, got)
	if n := got.result.Counts["anonymous"]; n != 30 {
		t.Errorf("%d requests are anonymous, want 30", n)
	}
}

// If Caddy does not trust the proxies in front of it, its log contains the
// client only in X-Forwarded-For.
func TestRead_CaddyWithoutTrustedProxies(t *testing.T) {
	line := func(h hit) string {
		line := strings.Replace(h.caddyFloat(), `"client_ip":"`+h.address+`"`, `"client_ip":"10.0.0.1"`, 1)
		return strings.Replace(line, `"headers":{`, `"headers":{"X-Forwarded-For":["`+h.address+`, 10.0.0.9"],`, 1)
	}
	got := read(t, always("User-agent: *\nCrawl-delay: 10\n"), linesOf(gapHits(), line))
	wantAccused(t, got, "GuiltyBot gap")
	if address := got.violations[0].Address; address != "192.0.2.66" {
		t.Errorf("the violation has the address %q, want 192.0.2.66", address)
	}
}
