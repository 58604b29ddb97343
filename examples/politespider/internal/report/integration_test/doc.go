// Package integration opens reports in Chromium. It holds nothing but tests, in
// a module of its own, so that nobody else requires the driver of a browser.
// Without Chromium they are skipped, and say so.
//
//	REPORT_SHOTS=/tmp/shots go test -C examples/politespider/internal/report/integration_test
//
// leaves screenshots there, to be looked at; with REPORT_PAGES=5000 the big
// crawl has so many pages on each of its 200 hosts.
package integration
