// Package warc reads the WARC files of robotsmw/evidence with gowarc, the WARC
// reader of another project, in its strictest mode. It is a module of its own,
// because gowarc requires other modules.
package warc
