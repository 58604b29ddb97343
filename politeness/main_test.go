package politeness

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		parallel.Value.Set("8") // what is parallel waits for real time, and hardly for a processor
	}
	goleak.VerifyTestMain(m)
}
