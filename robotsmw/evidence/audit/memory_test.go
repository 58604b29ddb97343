package audit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// Each line of a log is a megabyte long, because of a long text after a robot's
// name, a long address, or a long path in the URL. The Auditor must retain the
// names, but not the lines.
func TestMemoryOfLongLines(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: the race detector needs memory of its own")
	}
	const n = 100
	long := strings.Repeat("x", 900<<10)
	for name, format := range map[string]string{
		"a long User-Agent":        `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://a.example/ HTTP/1.1" 200 5 "-" "Bot%[1]d/1.0 ` + long + `"`,
		"a long browser's name":    `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://a.example/ HTTP/1.1" 200 5 "-" "Mozilla/5.0 (compatible; Bot%[1]d/1.0) ` + long + `"`,
		"a long path":              `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://host%[1]d.example/` + long + ` HTTP/1.1" 200 5 "-" "Bot/1.0"`,
		"a long path, in capitals": `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://HOST%[1]d.example/` + long + ` HTTP/1.1" 200 5 "-" "Bot/1.0"`,
		"a long address":           `a%[1]d` + long + ` - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://a.example/ HTTP/1.1" 200 5 "-" "Bot/1.0"`,
	} {
		t.Run(name, func(t *testing.T) {
			var a Auditor
			before := testmain.Heap()
			for i := range n {
				line := fmt.Sprintf(format, i, i%60)
				if err := a.Read(t.Context(), Input{"log", strings.NewReader(line + "\n")}); err != nil {
					t.Fatal(err)
				}
			}
			for e := a.window.pop(true); e != nil; e = a.window.pop(true) {
				a.judge(e)
			}
			if grown := testmain.Heap() - before; grown > 10<<20 {
				t.Errorf("%d lines take %d bytes, want at most 10 MiB", n, grown)
			}
			if len(a.robots) == 0 || len(a.hosts) == 0 {
				t.Errorf("%d robots and %d hosts are known, want some", len(a.robots), len(a.hosts))
			}
			runtime.KeepAlive(&a)
		})
	}
}

// Each line is a megabyte long. The events in the window, which are sorted by
// time, must not refer to parts of these lines, because the window's limit
// includes only the length of a name, and not that of the text that contained
// the name.
func TestMemoryOfLongLines_InWindow(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: the race detector needs memory of its own")
	}
	long := strings.Repeat("x", 900<<10)
	for name, format := range map[string]string{
		"a long User-Agent": `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET /%[1]d HTTP/1.1" 200 5 "-" "Bot/1.0 ` + long + `"`,
		"a long name":       `a%[1]d` + long + ` - - [20/Nov/2026:10:00:%02[2]d +0000] "GET / HTTP/1.1" 200 5 "-" "Bot/1.0"`,
		"a long host":       `a%[1]d.` + long + `:443 192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET / HTTP/1.1" 200 5 "-" "Bot/1.0"`,
		"a long host in JSON": `{"ts":"2026-11-20T10:00:%02[2]dZ","logger":"http.log.access","request":{"remote_ip":"192.0.2.1","method":"GET","host":"a%[1]d` + long + `",` +
			`"uri":"/","headers":{"User-Agent":["Bot/1.0"]}},"status":200}`,
		"a long peer in JSON": `{"ts":"2026-11-20T10:00:%02[2]dZ","logger":"http.log.access","request":{"remote_ip":"a%[1]d` + long + `","method":"GET","host":"a.example",` +
			`"uri":"/","headers":{"User-Agent":["Bot/1.0"]}},"status":200}`,
	} {
		t.Run(name, func(t *testing.T) {
			var a Auditor
			before := testmain.Heap()
			for i := range 100 {
				line := fmt.Sprintf(format, i, i%60)
				if err := a.Read(t.Context(), Input{"log", strings.NewReader(line + "\n")}); err != nil {
					t.Fatal(err)
				}
			}
			if grown := testmain.Heap() - before; grown > 10<<20 {
				t.Errorf("%d events take %d bytes, want at most 10 MiB", len(a.window.events), grown)
			}
			if len(a.window.events) != 100 {
				t.Errorf("the window has %d events, want 100", len(a.window.events))
			}
			runtime.KeepAlive(&a)
		})
	}
}

// The caller keeps all violations of lines with a megabyte each, as the command
// robotscheck audit keeps 10,000 violations.
func TestMemoryOfViolations(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: the race detector needs memory of its own")
	}
	long := strings.Repeat("x", 900<<10)
	for name, format := range map[string]string{
		"a long path": `192.0.2.1 - - [20/Nov/2026:10:00:%02[2]d +0000] "GET http://host%[1]d.example/private/` + long + ` HTTP/1.1" 200 5 "-" "Bot/1.0"`,
		"a long name": `a%[1]d` + long + ` - - [20/Nov/2026:10:00:%02[2]d +0000] "GET /private/ HTTP/1.1" 200 5 "-" "Bot/1.0"`,
	} {
		t.Run(name, func(t *testing.T) {
			var kept []Violation
			before := testmain.Heap()
			func() {
				a := Auditor{given: *always("User-agent: *\nDisallow: /private/\n"), OnViolation: func(v Violation) { kept = append(kept, v) }}
				for i := range 100 {
					line := fmt.Sprintf(format, i, i%60)
					if err := a.Read(t.Context(), Input{"log", strings.NewReader(line + "\n")}); err != nil {
						t.Fatal(err)
					}
				}
				a.Result()
			}()
			if grown := testmain.Heap() - before; grown > 10<<20 {
				t.Errorf("%d violations take %d bytes, want at most 10 MiB", len(kept), grown)
			}
			if len(kept) != 100 {
				t.Errorf("there are %d violations, want 100", len(kept))
			}
			runtime.KeepAlive(kept)
		})
	}
}

// Each robots.txt of a record redirects to another path of 7 KiB. Only the
// hashes of the paths are kept in memory.
func TestMemoryOfRedirects(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("SKIPPED: the race detector needs memory of its own")
	}
	k := newRecordOrigins()
	before := testmain.Heap()
	long := strings.Repeat("x", 7<<10)
	for i := range 5000 {
		k.addFetch(&recordLine{URL: "https://a.example/robots.txt", Target: "https://a.example/robots.txt", Status: 302, Location: fmt.Sprint("/", i, long)})
	}
	if grown := testmain.Heap() - before; grown > 3<<20 {
		t.Errorf("%d redirects take %d bytes, want at most 3 MiB", len(k.hops), grown)
	}
	if len(k.hops) != 5000 {
		t.Errorf("%d redirects are known, want 5000", len(k.hops))
	}
	if !k.isForRobots("https://a.example/17" + long) {
		t.Error("isForRobots is false for the target of a redirect, want true")
	}
	if k.isForRobots("https://a.example/17") {
		t.Error("isForRobots is true for the beginning of a redirect's target, want false")
	}
	runtime.KeepAlive(&k)
}
