package main

import (
	"fmt"
	"os"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// checkReport makes sure that the report can be written, before a crawl that may take hours. A report that is there
// already stays until then.
func checkReport(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("-report: %w", err)
	}
	return file.Close()
}

// writeReport writes the report of a crawl, if one is wanted.
func writeReport(path string, c *report.Crawl, s record.Summary) error {
	if c == nil {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := c.Write(file, s); err != nil {
		file.Close()
		return fmt.Errorf("write the report to %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
