package main

// An explanation is about one change. It names the text of the line, because
// line numbers change.
type explanation struct{ file, before, after string }

// explained says why no test needs to notice a change: the changed behaviour is
// not promised, or cannot be seen from outside.
var explained = map[explanation]string{}
