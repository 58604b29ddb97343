package syntax

// A Dialect is a way to read robots.txt files. The type of the same name in
// package robotstxt, whose values are these, says what each is.
type Dialect uint8

const (
	RFC9309 Dialect = iota
	Google
	Koster1996
)
