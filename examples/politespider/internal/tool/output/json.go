package output

import (
	"encoding/json"
	"io"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A jsonPrinter writes one JSON object on each line: the records, then
// {"summary": …}.
type jsonPrinter struct{ enc *json.Encoder }

func newJSONPrinter(w io.Writer) jsonPrinter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // keeps the & in URLs readable
	return jsonPrinter{enc}
}

func (p jsonPrinter) begin(string, string)   {}
func (p jsonPrinter) record(r record.Record) { p.enc.Encode(r) }
func (p jsonPrinter) summary(s record.Summary) {
	p.enc.Encode(struct {
		Summary record.Summary `json:"summary"`
	}{s})
}
