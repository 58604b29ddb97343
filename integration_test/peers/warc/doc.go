// Package warc has the WARC files of robotsmw/evidence read by a reader of
// another make, at its strictest. It is a module of its own, because that
// reader brings others along.
package warc
