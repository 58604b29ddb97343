package output

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// CheckReport returns an error if the file for the report cannot be opened, so
// that the user learns of the error before the crawl, which may take hours.
// CheckReport does not change an existing file. If there is no file, it creates
// one and removes it again. It does nothing if path is "".
func CheckReport(path string) error {
	if path == "" {
		return nil
	}
	_, statErr := os.Lstat(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	err = file.Close()
	if errors.Is(statErr, fs.ErrNotExist) {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// ReadSummary reads the summary at the end of the JSON lines of an earlier
// crawl. It returns nil if path is "".
func ReadSummary(path string) (*record.Summary, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-compare: %w", err)
	}
	defer file.Close()
	summary, err := lastSummary(file)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("-compare: %w", err)
	}
	if err != nil || summary == nil {
		return nil, fmt.Errorf("-compare %s: no summary found; use the -json output of a completed crawl", path)
	}
	return summary, nil
}

// lastSummary returns the last summary in JSON values, or nil if there is none.
func lastSummary(r io.Reader) (summary *record.Summary, err error) {
	for dec := json.NewDecoder(r); ; {
		var line struct{ Summary *record.Summary }
		err := dec.Decode(&line)
		if err == io.EOF {
			return summary, nil
		}
		if err != nil {
			return nil, err
		}
		summary = cmp.Or(line.Summary, summary)
	}
}

// WriteReport writes the report of a crawl with this summary, if Options names
// a file for the report. The keys of the map are disallowed URLs. In the
// report, each of them has a link to its proof.
func (l *Ledger) WriteReport(s record.Summary, proofs map[string]report.Proof) error {
	if l.report == nil {
		return nil
	}
	s.Seconds = record.Since(l.crawlStart)
	l.report.Began = l.crawlStart
	l.report.Proofs = proofs
	file, err := os.Create(l.opts.Report)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := errors.Join(l.report.Write(file, s), file.Close()); err != nil {
		return fmt.Errorf("write the report to %s: %w", l.opts.Report, err)
	}
	return nil
}
