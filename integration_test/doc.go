// Package integration tests the module as a whole. It checks the imports of
// each package, and that the README is correct. It crawls real servers, and
// checks the requests in their logs. It contains only tests.
package integration
