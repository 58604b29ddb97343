// Package integration tests Courtesy from outside: who imports whom, whether
// the README is true, and whole crawls over real servers whose own logs are the
// witnesses. It holds nothing but tests.
package integration
