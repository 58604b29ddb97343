package htmlmeta

import "github.com/goodbots/courtesy/robotsmw/robotsmeta"

// Scan returns what the page says to everybody and to the robot with these
// product tokens. The page may contain any bytes. Only its first [Window] bytes
// count. If the head does not end within them, the result is Truncated.
func Scan(page []byte, tokens ...string) robotsmeta.Directives {
	s := Scanner{Tokens: tokens}
	if sniff(page, "") == nil {
		s.buf = page[:min(len(page), Window)] // no copy is needed
		s.full = len(page) >= Window
	} else {
		s.Write(page)
	}
	s.Finish()
	return s.found
}
