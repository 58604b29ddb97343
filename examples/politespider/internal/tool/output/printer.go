package output

import (
	"io"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A printer shows a crawl as it runs. The ledger makes one call at a time.
type printer interface {
	begin(what, userAgent string)
	record(record.Record)
	summary(record.Summary)
}

// liveness is the method of a printer that can also show the progress of the
// crawl.
type liveness interface {
	progress(soFar record.Summary, q frontier.State)
}

func newPrinter(w io.Writer, live, asJSON bool) printer {
	switch {
	case asJSON:
		return newJSONPrinter(w)
	case live:
		return livePrinter{&textPrinter{w: w, colour: os.Getenv("NO_COLOR") == ""}} // https://no-color.org
	}
	return &textPrinter{w: w}
}
