// Package warc reads the WARC files of robotsmw/evidence with another WARC
// reader, in its strictest mode. It is a module of its own, because that reader
// requires other modules.
package warc
