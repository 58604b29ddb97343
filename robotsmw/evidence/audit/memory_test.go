package audit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// Each line of a log has a megabyte: a robot's name that is followed by a long
// text, a long address, or the URL of a host with a long path. The Auditor
// keeps the names, and not the lines.
func TestMemoryOfLongLines(t *testing.T) {
	if raceEnabled {
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
				t.Errorf("%d lines take %d bytes", n, grown)
			}
			if len(a.robots) == 0 || len(a.hosts) == 0 {
				t.Errorf("%d robots and %d hosts are known", len(a.robots), len(a.hosts))
			}
			runtime.KeepAlive(&a)
		})
	}
}
