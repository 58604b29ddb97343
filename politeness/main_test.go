package politeness

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		parallel.Value.Set("8") // parallel tests mostly sleep, so there can be more of them than processors
	}
	goleak.VerifyTestMain(m)
}
