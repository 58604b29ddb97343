package politeness

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	testmain.Parallel(8)
	goleak.VerifyTestMain(m)
}
