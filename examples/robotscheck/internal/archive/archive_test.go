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

func frame(dictionary string) string {
	return skippableMagic + string(binary.LittleEndian.AppendUint32(nil, uint32(len(dictionary)))) + dictionary
}

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
	raw := strings.Repeat(text, 10)
	withRaw := frame(raw) + compressZstd(t, text, zstd.WithEncoderDictRaw(0, []byte(raw)))
	for _, tt := range []struct{ name, file, want, err string }{
		{"a plain file", text, "f " + text, ""},
		{"nothing", "", "f ", ""},
		{"two bytes", "ab", "f ab", ""},
		{"gzip", "\x1f\x8b\x08\x00", "f \x1f\x8b\x08\x00", ""},
		{"zstd", compressZstd(t, text), "f " + text, ""},
		{"two frames", compressZstd(t, "a") + compressZstd(t, "b"), "f ab", ""},
		{"a dictionary", withRaw, "f " + text, ""},
		{"a compressed dictionary", frame(compressZstd(t, raw)) + compressZstd(t, text, zstd.WithEncoderDictRaw(0, []byte(raw))), "f " + text, ""},
		{"a dictionary that is cut", withRaw[:20], "", "f: the dictionary: "},
		{"a huge dictionary", skippableMagic + "\xff\xff\xff\xff", "", "f: the dictionary: its size is 4294967295 bytes"},
		{"zstd that is cut", compressZstd(t, text)[:20], "", "error"},
		{"a WACZ", makeZip(t, "datapackage.json", "{}", "archive/data.warc.gz", "gz", "indexes/index.cdx", "", "archive/b.warc", text), "f:data.warc.gz gz,f:b.warc " + text, ""},
		{"a WACZ with zstd", makeZip(t, "archive/data.warc.zst", compressZstd(t, text)), "f:data.warc.zst " + text, ""},
		{"a WACZ with a dictionary", makeZip(t, "archive/data.warc.zst", withRaw), "f:data.warc.zst " + text, ""},
		{"a ZIP file", makeZip(t, "a.txt", "x"), "", "f is a ZIP file without a WARC file in it"},
		{"a ZIP file that is cut", makeZip(t, "a.warc", "x")[:30], "", "f: zip: not a valid zip file"},
	} {
		for _, isPipe := range []bool{false, true} {
			var file io.Reader = strings.NewReader(tt.file)
			want, wantErr := tt.want, tt.err
			if isPipe {
				file = io.MultiReader(file)
				if strings.HasPrefix(tt.file, zipMagic) {
					want, wantErr = "", "f is a ZIP file, which cannot be read from standard input"
				}
			}
			members, err := Open("f", file)
			var got []string
			for _, m := range members {
				if m.Reader == nil {
					continue
				}
				text, readErr := io.ReadAll(m.Reader)
				if readErr != nil {
					err = readErr
				}
				got = append(got, m.Name+" "+string(text))
				m.Close()
			}
			isExpected := (err == nil) == (wantErr == "") && (err == nil || wantErr == "error" || strings.HasPrefix(err.Error(), wantErr))
			if !isExpected || err == nil && strings.Join(got, ",") != want {
				t.Errorf("%s: %q, %v; want %q, %q", tt.name, got, err, want, wantErr)
			}
		}
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
			t.Error("neither a member nor an error")
		}
		for _, m := range members {
			if m.Reader != nil {
				io.Copy(io.Discard, io.LimitReader(m.Reader, 1<<20))
			}
			m.Close()
		}
	})
}
