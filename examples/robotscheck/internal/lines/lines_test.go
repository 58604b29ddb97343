package lines

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Spans gives each line the number that the parser gives it, for every kind of
// line break.
func TestLineSpans_AreTheParsersLines(t *testing.T) {
	for _, text := range []string{
		"", "a", "\n", "a\nb", "a\r\nb\r\n", "a\rb\r", "\n\r\n\r\r\n", "\xef\xbb\xbfa\nb",
	} {
		checkLineSpans(t, text)
	}
}

func FuzzLineSpans(f *testing.F) {
	f.Add("a\r\nb\rc\n\n")
	f.Add("\xef\xbb\xbfa")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1000 {
			checkLineSpans(t, text)
		}
	})
}

// checkLineSpans tests each line of the text in a copy of its own. In the copy,
// it inserts "mark: here" where Spans says that the line begins. Then it checks
// that the parser finds the inserted line there.
func checkLineSpans(t *testing.T, text string) {
	t.Helper()
	lines := 0
	for number, span := range Spans([]byte(text)) {
		if lines++; number != lines || strings.ContainsAny(text[span[0]:span[1]], "\r\n") {
			t.Fatalf("%q: line %d is number %d, %q", text, lines, number, text[span[0]:span[1]])
		}
		marked := text[:span[0]] + "\nmark: here\n" + text[span[0]:]
		found := false
		for f := range robotstxt.Parse([]byte(marked)).Fields("mark") {
			found = found || f.Value == "here" && (f.Line == number+1 || f.Line == number)
		}
		if !found {
			t.Fatalf("%q: the parser has no line that begins at byte %d", text, span[0])
		}
	}
}
