package testmain

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// maxLoad is the number of processes for each CPU that may want to run while a
// test of real time runs. A run of all tests beside four busy loops has six.
const maxLoad = 10

// SkipIfOverloaded skips a test whose servers and crawlers must respond within
// seconds, if the processes of the machine get less than a tenth of the CPU
// time that they need. On systems without /proc, it never skips.
func SkipIfOverloaded(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatalf("/proc/loadavg contains %q: %v", text, err)
	}
	if load > maxLoad*float64(runtime.NumCPU()) {
		t.Skipf("SKIPPED: the load of the machine is %.0f on %d CPUs, so servers would not respond in time", load, runtime.NumCPU())
	}
}
