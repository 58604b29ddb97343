package record

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

func TestCause(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"as it is", "connection refused", "connection refused"},
		{"without words", "", "no reason given"},
		{
			name: "in another language",
			text: "Verbindung abgelehnt: 接続が拒否されました",
			want: "Verbindung abgelehnt: 接続が拒否されました",
		},
		{"lines", "one\n\ttwo\r\n", "one  two  "},
		{"what writes to a terminal", "\x1b[2J\a\u202e", "\ufffd[2J\ufffd\ufffd"},
		{"no UTF-8", "a\xffb", "a\ufffdb"},
		{"300 bytes", strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{"301 bytes", strings.Repeat("x", 301), strings.Repeat("x", 297) + "..."},
		{"a cut between letters", strings.Repeat("é", 151), strings.Repeat("é", 148) + "..."},
		{
			name: "a text that grows when it is made printable",
			text: strings.Repeat("\xff", 101),
			want: strings.Repeat("\ufffd", 99) + "...",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cleanCause(tt.text); got != tt.want {
				t.Errorf("cleanCause(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// TestTextsOfRecordsAreCopies checks that a record contains copies of its
// texts, which may be parts of something long, such as a header.
func TestTextsOfRecordsAreCopies(t *testing.T) {
	text := "connection refused"
	for name, kept := range map[string]string{"cause": cleanCause(text), "validator": Validator(text)} {
		if kept != text || unsafe.StringData(kept) == unsafe.StringData(text) {
			t.Errorf("the %s %q is not a copy of %q, want one", name, kept, text)
		}
	}
}

func FuzzCause(f *testing.F) {
	f.Add("net/http: malformed HTTP status code \"\x1b\xff\"")
	f.Add(strings.Repeat("é\xf0", 99))
	f.Fuzz(func(t *testing.T, text string) {
		cause := cleanCause(text)
		if len(cause) > 300 || cause == "" || !utf8.ValidString(cause) {
			t.Errorf("cleanCause(%q) = %q, want 1 to 300 bytes of UTF-8", text, cause)
		}
		if strings.ContainsFunc(cause, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("cleanCause(%q) = %q, want printable characters only", text, cause)
		}
		if again := cleanCause(cause); again != cause {
			t.Errorf("cleanCause(%q) = %q, want no change", cause, again)
		}
	})
}

// Whatever a server sends, a stored record takes at most 64 KiB in addition to
// the robots.txt itself. However, a Store may return a larger record. If its
// Failure.Cause is too long, Decode truncates the text. If its URL is too long,
// Decode returns an error.
func TestStoredRecordsAreSmall(t *testing.T) {
	k := &Kind{Tokens: []string{"ExampleBot"}}
	now := time.Now()
	name := "http://" + strings.Repeat("a.", 120) + "example"
	worst := &Record{
		State:   Good,
		Doc:     k.Document([]byte(someRules)),
		Fetched: now,
		Expires: now.Add(time.Hour),
		Source: &Source{
			URL:  "http://a.example/?" + strings.Repeat("\xff", 8<<10-18),
			ETag: Validator(strings.Repeat("<", 1<<10)), LastModified: Validator(strings.Repeat("\xff", 1<<10)),
		},
	}
	value := k.Encode(
		name,
		worst.Failed("", now, 503, strings.Repeat("<", 1<<20), time.Hour),
		[]byte(someRules),
	)
	if len(value) > 64<<10 {
		t.Errorf("the stored value has %d bytes, want at most 64 KiB", len(value))
	}

	lie := storedRecord{
		State:   "good",
		SHA256:  sha256Hex(someRules),
		Fetched: now,
		Expires: now.Add(time.Hour),
		Failure: &storedFailure{
			Since: now,
			Last:  now,
			Count: 1,
			Retry: now,
			Cause: strings.Repeat("\x1b", 1<<20),
		},
	}
	rec, err := k.Decode(name, stored(t, name, lie, someRules))
	if err != nil || len(rec.Failure.Cause) > 300 {
		t.Errorf("Decode returned error %v and a cause of %d bytes, want no error and at most 300", err, len(rec.Failure.Cause))
	}
	lie.URL = "http://a.example/" + strings.Repeat("x", 1<<20)
	if _, err := k.Decode(name, stored(t, name, lie, someRules)); err == nil || len(err.Error()) > 200 {
		t.Errorf("Decode of a URL of 1 MB: got error %v, want one of at most 200 bytes", err)
	}
}
