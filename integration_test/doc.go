// Package integration tests Courtesy from outside. It checks which package
// imports which, and whether the README is true. It runs whole crawls of real
// servers, and the servers' logs show what was requested. It contains only
// tests.
package integration
