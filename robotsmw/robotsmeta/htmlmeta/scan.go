package htmlmeta

import "github.com/goodbots/courtesy/robotsmw/robotsmeta"

// Scan returns the directives of a page for the robot with the given product
// tokens, including those for all robots. Any page is valid input. If the head
// does not end within the first [Window] bytes, the Truncated method of the
// result reports true.
func Scan(page []byte, tokens ...string) robotsmeta.Directives {
	s := Scanner{Tokens: tokens}
	if utf16Order(page, "") == nil {
		s.buf = page[:min(len(page), Window)] // avoids a copy
		s.full = len(page) >= Window
	} else {
		s.Write(page)
	}
	s.Finish()
	return s.directives
}
