package main

// An explanation identifies a change by its text, wherever in the file the line
// is.
type explanation struct{ file, before, after string }

// explained says for a change why no test can or need notice it: the behaviour
// that it changes is not promised, or cannot be seen from outside.
var explained = map[explanation]string{}
