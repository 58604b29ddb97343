package main

// An explanation is about one change. It identifies the line by its text,
// because line numbers change.
type explanation struct{ file, before, after string }

// explained maps a change to the reason why no test needs to notice it. For
// example, the changed behavior is not documented, or has no visible effect.
var explained = map[explanation]string{}
