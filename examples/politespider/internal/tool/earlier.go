package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// earlier() reads the summary at the end of an earlier crawl's JSON lines. It
// returns nil if -compare is not given.
func (o *options) earlier() (*record.Summary, error) {
	if o.compare == "" {
		return nil, nil
	}
	file, err := os.Open(o.compare)
	if err != nil {
		return nil, fmt.Errorf("-compare: %w", err)
	}
	defer file.Close()
	var line struct{ Summary *record.Summary }
	for in := bufio.NewReader(file); ; {
		text, err := in.ReadBytes('\n')
		if bytes.HasPrefix(text, []byte(`{"summary":`)) {
			if err := json.Unmarshal(text, &line); err != nil {
				return nil, fmt.Errorf("-compare %s: %w", o.compare, err)
			}
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("-compare: %w", err)
		case line.Summary == nil:
			return nil, fmt.Errorf("-compare %s: there is no summary: name what -json printed of a crawl that came to its end", o.compare)
		default:
			return line.Summary, nil
		}
	}
}
