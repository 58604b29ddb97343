// Package integration opens reports in Chromium. It has only tests. It is a
// module of its own, because no other module is to require the browser's
// driver. Without Chromium, the tests are skipped with a message.
//
//	REPORT_SHOTS=/tmp/shots go test -C examples/politespider/internal/report/integration_test
//
// leaves screenshots in that directory. With REPORT_PAGES=5000, the big crawl
// has 5,000 pages on each of its 200 hosts.
package integration
