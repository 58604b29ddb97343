package syntax

// A Dialect determines how a robots.txt file is parsed and matched. Its values
// are those of robotstxt.Dialect, which documents them.
type Dialect uint8

const (
	RFC9309 Dialect = iota
	Google
	Koster1996
)
