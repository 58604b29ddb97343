// Package lines splits a robots.txt into lines and numbers them as package
// robotstxt does.
package lines

import "strings"

// Spans yields the number of each line, and where the line begins and ends in
// the text. Lines end with LF, CR LF or CR (RFC 9309 §2.2). If the text ends
// with a line end, Spans yields one more line, which is empty. A byte order
// mark is not part of the first line.
func Spans(text []byte) func(yield func(int, [2]int) bool) {
	return func(yield func(int, [2]int) bool) {
		start := 0
		if strings.HasPrefix(string(text[:min(len(text), 3)]), "\xef\xbb\xbf") {
			start = 3
		}
		for number := 1; ; number++ {
			end := start
			for end < len(text) && text[end] != '\n' && text[end] != '\r' {
				end++
			}
			if !yield(number, [2]int{start, end}) || end == len(text) {
				return
			}
			if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
				end++
			}
			start = end + 1
		}
	}
}
