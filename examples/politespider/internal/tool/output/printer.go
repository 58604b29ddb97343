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

// newPrinter returns a printer that writes to w. terminal is the writer to
// which w passes the output. The printer uses colors and a progress line only
// if terminal is a terminal.
func newPrinter(terminal, w io.Writer, asJSON bool) printer {
	if asJSON {
		return jsonPrinter{cli.NewEncoder(w)}
	}
	live := cli.Terminal(terminal) != nil
	return &textPrinter{
		w:       w,
		live:    live,
		color:   live && os.Getenv("NO_COLOR") == "", // https://no-color.org
		printed: make(map[string]bool),
	}
}

// A jsonPrinter writes one JSON object on each line: the records, then
// {"summary": …}.
type jsonPrinter struct{ enc *json.Encoder }

func (p jsonPrinter) begin(string, string)   {}
func (p jsonPrinter) record(r record.Record) { p.enc.Encode(r) }
func (p jsonPrinter) summary(s record.Summary) {
	p.enc.Encode(map[string]record.Summary{"summary": s})
}

// A checkedWriter writes to w. It stores the first error, and calls onError
// with it.
type checkedWriter struct {
	w       io.Writer
	err     error
	onError func(error)
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = err
		c.onError(err)
	}
	return n, err
}
