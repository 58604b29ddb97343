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

// compress returns the texts as the members of a gzip file.
func compress(texts ...string) string {
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
		"one member":                 {compress("a\nb\n"), "a\nb\n", false},
		"several members":            {compress("a", "", "b"), "ab", false},
		"an empty text":              {compress(""), "", false},
		"a newline after the member": {compress("a") + "\n", "a", false},
		"CRLF after the member":      {compress("a") + "\r\n", "a", false},
		"zeros after the member":     {compress("a") + strings.Repeat("\x00", 600), "a", false},
		"a page after the member":    {compress("a") + "<html>", "a", false},
		"the first byte of a member": {compress("a") + "\x1f", "a", false},
		"spaces after two members":   {compress("a", "b") + "  ", "ab", false},
		"a truncated member":         {compress("abc")[:14], "abc", true},
		"a truncated second member":  {compress("abc") + compress("def")[:14], "abcdef", true},
		"a wrong checksum":           {compress("abc")[:20] + "xxxxxxxx", "abc", true},
		"another format":             {"abc", "", true},
		"an empty body":              {"", "", true},
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
			if (err != nil) != tt.fails {
				t.Errorf("reading %s: error %v, want an error: %t", name, err, tt.fails)
			}
			isText := string(got) == tt.want || tt.fails && strings.HasPrefix(tt.want, string(got))
			if !isText {
				t.Errorf("reading %s: text %q, want %q", name, got, tt.want)
			}
		}
	}
}

// encodeUTF16 encodes a text after a byte order mark.
func encodeUTF16(order binary.AppendByteOrder, text string) string {
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
		"UTF-8":                        {text, 1 << 10, text},
		"truncated UTF-8":              {text, 10, text},
		"UTF-8 with a byte order mark": {"\ufeff" + text, 1 << 10, "\ufeff" + text},
		"UTF-16":                       {encodeUTF16(binary.LittleEndian, text), 1 << 10, "\ufeff" + text},
		"UTF-16, big endian":           {encodeUTF16(binary.BigEndian, text), 1 << 10, "\ufeff" + text},
		"truncated UTF-16": {
			body: encodeUTF16(binary.LittleEndian, text)[:90],
			most: 89,
			want: "\ufeffUser-agent: *\nDisallow: /ä\n" + strings.Repeat("\x00", 59),
		},
		"UTF-16 in one truncated line": {
			body: encodeUTF16(binary.LittleEndian, "Disallow: /public"),
			most: 9,
			want: strings.Repeat("\x00", 10),
		},
		"UTF-16 with long lines": {encodeUTF16(binary.LittleEndian, "語語語語\n語"), 13, "\ufeff語語語語\n"},
		"binary data":            {"\xff\x00", 1 << 10, "\xff\x00"},
		"an empty body":          {"", 1 << 10, ""},
	} {
		if got := string(Text([]byte(tt.body), tt.most)); got != tt.want {
			t.Errorf("Text of %s = %q, want %q", name, got, tt.want)
		}
	}
}

// A bufio.Reader returns an error only once, so the Peek in IsGzip could
// discard the error.
func TestNewReader_KeepsErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"", "x", "xy", "\xff\xfe"} {
		once := &failsOnce{text, broken}
		r := NewReader(once)
		if IsGzip(r) {
			t.Errorf("IsGzip of %q = true, want false", text)
		}
		if _, err := io.ReadAll(NewTextReader(r)); !errors.Is(err, broken) {
			t.Errorf("reading %q: error %v, want %v", text, err, broken)
		}
	}
}

// A source that fails between two members, or in the first bytes of one, is not
// at its end.
func TestNewGzipReader_SourceFails(t *testing.T) {
	broken := errors.New("broken")
	for _, rest := range []string{"", "\x1f", "\x1f\x8b"} {
		source := io.MultiReader(strings.NewReader(compress("a")+rest), iotest.ErrReader(broken))
		r, err := NewGzipReader(NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); string(got) != "a" || !errors.Is(err, broken) {
			t.Errorf("with %q after the first member, ReadAll = %q, %v, want %q, %v", rest, got, err, "a", broken)
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
		"UTF-8":                         {text, text},
		"UTF-8 with a byte order mark":  {"\ufeff" + text, "\ufeff" + text},
		"UTF-16, big endian":            {encodeUTF16(binary.BigEndian, text), "\ufeff" + text},
		"UTF-16, little endian":         {encodeUTF16(binary.LittleEndian, text), "\ufeff" + text},
		"a byte order mark alone":       {"\xff\xfe", "\ufeff"},
		"half a code unit":              {"\xff\xfea\x00b", "\ufeffa\ufffd"},
		"a surrogate alone":             {"\xfe\xff\xd8\x00\x00a", "\ufeff\ufffda"},
		"a surrogate at the end":        {"\xfe\xff\xd8\x00", "\ufeff\ufffd"},
		"a low surrogate":               {"\xfe\xff\xdc\x00\x00a", "\ufeff\ufffda"},
		"one byte of a byte order mark": {"\xff", "\xff"},
		"an empty body":                 {"", ""},
		"a long text": {
			body: encodeUTF16(binary.BigEndian, strings.Repeat(text, 2000)),
			want: "\ufeff" + strings.Repeat(text, 2000),
		},
	} {
		r := NewTextReader(bufio.NewReader(strings.NewReader(tt.body)))
		if err := iotest.TestReader(r, []byte(tt.want)); err != nil {
			t.Errorf("NewTextReader of %s: %v", name, err)
		}
	}
}
