package main

// An explanation is about one change, wherever in its file the line stands.
type explanation struct{ file, before, after string }

// explained says why no test can, or need, notice a change: what it changes is
// not promised, or cannot be seen from outside.
var explained = map[explanation]string{}
