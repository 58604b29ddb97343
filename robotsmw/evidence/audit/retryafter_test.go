package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A Retry-After in an unusual form, such as that of time.RFC1123 or a fraction,
// requests a pause, too. In each row, the robot's next request is half a minute
// after the response, and is a violation if the Retry-After requests a minute.
func TestRead_FormsOfRetryAfter(t *testing.T) {
	const t0 = 1795168800 // Fri, 20 Nov 2026 10:00:00 GMT
	line := func(ts float64, uri string, status int, header string) string {
		const format = `{"level":"info","ts":%f,"logger":"http.log.access","msg":"handled request",` +
			`"request":{"client_ip":"192.0.2.1","method":"GET","host":"a.example","uri":%q,` +
			`"headers":{"User-Agent":["ExampleBot/1.0"]}},` +
			`"duration":0,"size":1,"status":%d,"resp_headers":{%s}}` + "\n"
		return fmt.Sprintf(format, ts, uri, status, header)
	}
	for value, want := range map[string]bool{
		"60": true, "59.5": true, "60.0": true, "Fri, 20 Nov 2026 10:01:00 GMT": true, "Fri, 20 Nov 2026 10:01:00 UTC": true,
		"Fri, 20 Nov 2026 11:01:00 CET": true, "Fri, 20 Nov 2026 10:01:00 +0000": true, "2026-11-20 10:01:00 UTC": true, "2026-11-20T10:01:00Z": true,
		"60, 5": true, "60s": true, "1m": true, "1795168860": true,

		"5": false, "29.0": false, "5, 6": false, "5s": false, "soon": false, "-60": false, "1e9": false, "Fri, 20 Nov 2026 10:01:00 CET": false,
		"2026-11-20T10:00:05Z": false, "1795168805": false,
	} {
		h := new(history)
		give(h, "a.example", time.Time{}, 200, []byte("User-agent: *\nAllow: /\n"))
		got := read(t, h, line(t0, "/a", 429, fmt.Sprintf(`"Retry-After":[%q]`, value))+line(t0+30, "/b", 200, "")).String()
		if strings.Contains(got, "retry-after") != want {
			t.Errorf("Retry-After: %s: the violations are %q, want retry-after: %t", value, got, want)
		}
	}
}
