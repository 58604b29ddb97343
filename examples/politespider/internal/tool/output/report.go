package output

import (
	"errors"
	"fmt"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// CheckReport returns an error if the report cannot be written. So the user
// learns it before a crawl that may take hours. CheckReport leaves an existing
// report as it is, and creates an empty file if there is none.
func CheckReport(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return file.Close()
}

// WriteReport writes the report of the crawl, if Options names a file for it.
// It links each blocked URL to its proof in proofs, if there is one.
func (l *Ledger) WriteReport(proofs map[string]report.Proof) error {
	drawn := l.report
	if l.whole != nil {
		drawn = l.whole.report
	}
	if drawn == nil {
		return nil
	}
	file, err := os.Create(l.opts.Report)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	drawn.Prove(proofs)
	if err := errors.Join(drawn.Write(file, l.ofReport), file.Close()); err != nil {
		return fmt.Errorf("write the report to %s: %w", l.opts.Report, err)
	}
	return nil
}
