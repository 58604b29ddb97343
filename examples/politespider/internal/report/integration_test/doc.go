// Package integration has tests that open reports in Chromium. It is a module
// of its own, so that no other module requires the browser's driver. Without
// Chromium, the tests are skipped with a message. This command saves
// screenshots in the directory REPORT_SHOTS:
//
//	REPORT_SHOTS=/tmp/shots go test -C examples/politespider/internal/report/integration_test
//
// With REPORT_PAGES=5000, the big crawl has 5,000 pages on each of its 200
// hosts.
package integration
