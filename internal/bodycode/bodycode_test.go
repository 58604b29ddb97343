package bodycode

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

func packed(texts ...string) string {
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
	}
	return b.String()
}

// A server that appends a newline to a compressed file, or pads it with zeros,
// made gzip.Reader fail at the end of the text.
func TestNewGzipReader(t *testing.T) {
	for name, tt := range map[string]struct {
		body, want string
		fails      bool
	}{
		"one member":               {packed("a\nb\n"), "a\nb\n", false},
		"several members":          {packed("a", "", "b"), "ab", false},
		"an empty text":            {packed(""), "", false},
		"a newline after it":       {packed("a") + "\n", "a", false},
		"CRLF after it":            {packed("a") + "\r\n", "a", false},
		"zeros after it":           {packed("a") + strings.Repeat("\x00", 600), "a", false},
		"a page after it":          {packed("a") + "<html>", "a", false},
		"one byte of the magic":    {packed("a") + "\x1f", "a", false},
		"spaces after two members": {packed("a", "b") + "  ", "ab", false},
		"broken off":               {packed("abc")[:14], "abc", true},
		"broken off in the second": {packed("abc") + packed("def")[:14], "abcdef", true},
		"a wrong checksum":         {packed("abc")[:20] + "xxxxxxxx", "abc", true},
		"no gzip":                  {"abc", "", true},
		"nothing":                  {"", "", true},
	} {
		for _, slow := range []bool{false, true} {
			var source io.Reader = strings.NewReader(tt.body)
			if slow {
				source = iotest.OneByteReader(source)
			}
			r, err := NewGzipReader(bufio.NewReader(source))
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if !strings.HasPrefix(tt.want, string(got)) && tt.fails || !tt.fails && string(got) != tt.want || (err != nil) != tt.fails {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}

func inUTF16(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

func TestText(t *testing.T) {
	const text = "User-agent: *\nDisallow: /ä\nDisallow: /public/secret"
	for name, tt := range map[string]struct {
		body string
		most int
		want string
	}{
		"UTF-8":              {text, 1 << 10, text},
		"UTF-8 that is cut":  {text, 10, text},
		"UTF-8 with a mark":  {"\ufeff" + text, 1 << 10, "\ufeff" + text},
		"UTF-16":             {inUTF16(binary.LittleEndian, text), 1 << 10, "\ufeff" + text},
		"UTF-16, big endian": {inUTF16(binary.BigEndian, text), 1 << 10, "\ufeff" + text},
		"UTF-16 that is cut": {
			body: inUTF16(binary.LittleEndian, text)[:90],
			most: 89,
			want: "\ufeffUser-agent: *\nDisallow: /ä\n" + strings.Repeat("\x00", 59),
		},
		"UTF-16 in one cut line": {
			body: inUTF16(binary.LittleEndian, "Disallow: /public"),
			most: 9,
			want: strings.Repeat("\x00", 10),
		},
		"UTF-16 with long lines": {inUTF16(binary.LittleEndian, "語語語語\n語"), 13, "\ufeff語語語語\n"},
		"binary":                 {"\xff\x00", 1 << 10, "\xff\x00"},
		"nothing":                {"", 1 << 10, ""},
	} {
		if got := string(Text([]byte(tt.body), tt.most)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A bufio.Reader returns an error only once, so that IsGzip could lose it.
func TestNewReader_KeepsErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "x", "xy", "\xff\xfe"} {
		once := &failsOnce{text, broken}
		r := NewReader(once)
		if IsGzip(r) {
			t.Error("no gzip")
		}
		if _, err := io.ReadAll(NewTextReader(r)); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A source that fails between two members, or in the first bytes of one, is not
// at its end.
func TestNewGzipReader_SourceFails(t *testing.T) {
	broken := errors.New("broken")
	for _, rest := range []string{"", "\x1f", "\x1f\x8b"} {
		source := io.MultiReader(strings.NewReader(packed("a")+rest), iotest.ErrReader(broken))
		r, err := NewGzipReader(NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != "a" || !errors.Is(err, broken) {
			t.Errorf("%q after the member: %q, %v", rest, got, err)
		}
	}
}

// A failsOnce returns a text, an error, and then io.EOF.
type failsOnce struct {
	text string
	err  error
}

func (f *failsOnce) Read(p []byte) (int, error) {
	if n := copy(p, f.text); n > 0 {
		f.text = f.text[n:]
		return n, nil
	}
	err := f.err
	f.err = io.EOF
	return 0, err
}

func TestNewTextReader(t *testing.T) {
	const text = "User-agent: *\nDisallow: /ä/漢/😀\n"
	for name, tt := range map[string]struct{ body, want string }{
		"UTF-8":                {text, text},
		"UTF-8 with a mark":    {"\ufeff" + text, "\ufeff" + text},
		"UTF-16, big endian":   {inUTF16(binary.BigEndian, text), "\ufeff" + text},
		"UTF-16, little":       {inUTF16(binary.LittleEndian, text), "\ufeff" + text},
		"a mark alone":         {"\xff\xfe", "\ufeff"},
		"half a code unit":     {"\xff\xfea\x00b", "\ufeffa\ufffd"},
		"a surrogate alone":    {"\xfe\xff\xd8\x00\x00a", "\ufeff\ufffda"},
		"a surrogate, the end": {"\xfe\xff\xd8\x00", "\ufeff\ufffd"},
		"a low surrogate":      {"\xfe\xff\xdc\x00\x00a", "\ufeff\ufffda"},
		"one byte of a mark":   {"\xff", "\xff"},
		"nothing":              {"", ""},
		"long": {
			body: inUTF16(binary.BigEndian, strings.Repeat(text, 2000)),
			want: "\ufeff" + strings.Repeat(text, 2000),
		},
	} {
		if err := iotest.TestReader(NewTextReader(bufio.NewReader(strings.NewReader(tt.body))), []byte(tt.want)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
