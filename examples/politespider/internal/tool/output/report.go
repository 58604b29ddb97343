package output

import (
	"fmt"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// CheckReport makes sure that the report can be written, before a crawl that
// may take hours. A report that is there already stays until then.
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
// It links URLs that were blocked to the proofs that there are, by URL.
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
	if err := drawn.Write(file, l.ofReport); err != nil {
		file.Close()
		return fmt.Errorf("write the report to %s: %w", l.opts.Report, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
