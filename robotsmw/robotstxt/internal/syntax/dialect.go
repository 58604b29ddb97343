package syntax

// A Dialect is a way to read robots.txt files. The type Dialect of package
// robotstxt has the same values and describes them.
type Dialect uint8

const (
	RFC9309 Dialect = iota
	Google
	Koster1996
)
