package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func compressZstd(tb testing.TB, text string, options ...zstd.EOption) string {
	tb.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, options...)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// frame returns a skippable frame with a dictionary.
func frame(dictionary string) string {
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(dictionary)))
	return skippableMagic + string(size) + dictionary
}

// makeZip returns a ZIP file. files has the name and the text of each file.
func makeZip(tb testing.TB, files ...string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(f, files[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func TestOpen(t *testing.T) {
	const text = "WARC/1.0\r\nWARC-Type: response\r\n"
	dictionary := strings.Repeat(text, 10)
	compressed := compressZstd(t, text, zstd.WithEncoderDictRaw(0, []byte(dictionary)))
	withDictionary := frame(dictionary) + compressed
	wacz := makeZip(t,
		"datapackage.json", "{}",
		"archive/data.warc.gz", "gz",
		"indexes/index.cdx", "",
		"archive/b.warc", text)
	waczWithDictionary := makeZip(t, "archive/data.warc.zst", withDictionary)
	for _, tt := range []struct {
		name, file string
		want       string // each member's name and text; ignored if err is set
		err        string // the beginning of the error
	}{
		{"a plain file", text, "f " + text, ""},
		{"an empty file", "", "f ", ""},
		{"two bytes", "ab", "f ab", ""},
		{"gzip", "\x1f\x8b\x08\x00", "f \x1f\x8b\x08\x00", ""},
		{"zstd", compressZstd(t, text), "f " + text, ""},
		{"two frames", compressZstd(t, "a") + compressZstd(t, "b"), "f ab", ""},
		{"a dictionary", withDictionary, "f " + text, ""},
		{"a compressed dictionary", frame(compressZstd(t, dictionary)) + compressed, "f " + text, ""},
		{"a truncated dictionary", withDictionary[:20], "", "f: the dictionary: "},
		{
			"a huge dictionary", skippableMagic + "\xff\xff\xff\xff",
			"", "f: the dictionary: the size is 4294967295 bytes",
		},
		{"truncated zstd", compressZstd(t, text)[:20], "", "unexpected EOF"},
		{"a WACZ", wacz, "f:data.warc.gz gz,f:b.warc " + text, ""},
		{
			"a WACZ with zstd", makeZip(t, "archive/data.warc.zst", compressZstd(t, text)),
			"f:data.warc.zst " + text, "",
		},
		{"a WACZ with a dictionary", waczWithDictionary, "f:data.warc.zst " + text, ""},
		{"a ZIP file", makeZip(t, "a.txt", "x"), "", "f is a ZIP file without a WARC file in it"},
		{"a truncated ZIP file", makeZip(t, "a.warc", "x")[:30], "", "f: zip: not a valid zip file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkOpen(t, strings.NewReader(tt.file), tt.want, tt.err)
		})
		t.Run(tt.name+" in a pipe", func(t *testing.T) {
			pipe := io.MultiReader(strings.NewReader(tt.file)) // which cannot seek
			if strings.HasPrefix(tt.file, zipMagic) {
				checkOpen(t, pipe, "", "f is a ZIP file, which cannot be read from standard input")
			} else {
				checkOpen(t, pipe, tt.want, tt.err)
			}
		})
	}
}

// checkOpen opens a file, and compares the names and texts of its members with
// want or, if wantErr is not empty, the error with wantErr.
func checkOpen(t *testing.T, file io.Reader, want, wantErr string) {
	t.Helper()
	members, err := Open("f", file)
	var all []string
	for _, m := range members {
		if m.Reader == nil {
			continue
		}
		text, readErr := io.ReadAll(m.Reader)
		if readErr != nil {
			err = readErr
		}
		all = append(all, m.Name+" "+string(text))
		m.Close()
	}
	if wantErr != "" {
		if err == nil || !strings.HasPrefix(err.Error(), wantErr) {
			t.Errorf("Open or Read returned the error %v, want one that begins with %q", err, wantErr)
		}
		return
	}
	if err != nil {
		t.Errorf("Open or Read: %v", err)
	}
	if got := strings.Join(all, ","); got != want {
		t.Errorf("Open returned the members %q, want %q", got, want)
	}
}

// Open returns members or an error for any input, and never panics.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(compressZstd(f, "a")))
	f.Add([]byte(frame("dictionary") + compressZstd(f, "a")))
	f.Add([]byte(makeZip(f, "archive/a.warc", "x")))
	f.Fuzz(func(t *testing.T, file []byte) {
		members, err := Open("f", bytes.NewReader(file))
		if err == nil && len(members) == 0 {
			t.Error("Open returned neither a member nor an error")
		}
		for _, m := range members {
			if m.Reader != nil {
				io.Copy(io.Discard, io.LimitReader(m.Reader, 1<<20))
			}
			m.Close()
		}
	})
}
