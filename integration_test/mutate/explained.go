package main

// An explanation identifies a change by its file and by the line's text, not by
// the line's number.
type explanation struct{ file, before, after string }

// explained has the changes that no test can or need notice, and why: the
// behaviour that is changed is not promised, or cannot be seen from outside.
var explained = map[explanation]string{}
