package output

import (
	"encoding/json"
	"io"
	"os"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A printer shows a crawl as it runs. The ledger makes one call at a time.
type printer interface {
	begin(what, userAgent string)
	record(record.Record)
	summary(record.Summary)
}

// newPrinter returns the printer for the output w. The printer writes to the
// writer to, which leads to w.
func newPrinter(w, to io.Writer, asJSON bool) printer {
	if asJSON {
		return jsonPrinter{cli.NewEncoder(to)}
	}
	live := cli.Terminal(w) != nil
	return &textPrinter{w: to, live: live, color: live && os.Getenv("NO_COLOR") == "", printed: make(map[string]bool)} // https://no-color.org
}

// A jsonPrinter writes one JSON object on each line: the records, then
// {"summary": …}.
type jsonPrinter struct{ enc *json.Encoder }

func (p jsonPrinter) begin(string, string)   {}
func (p jsonPrinter) record(r record.Record) { p.enc.Encode(r) }
func (p jsonPrinter) summary(s record.Summary) {
	p.enc.Encode(map[string]record.Summary{"summary": s})
}

// A checkedWriter writes to w. At the first error, it stores the error in err
// and calls the function in the field "failed".
type checkedWriter struct {
	w      io.Writer
	err    error
	failed func(error)
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = err
		c.failed(err)
	}
	return n, err
}
