package demosite

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/textproto"
	"path"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Each host has a file, which is named after the host. A file begins with a
// remark. Then come the host's answers:
//
//	-- TARGET STATUS --
//	# What is to be seen here.
//	=> What a polite crawler concludes.
//	Header: value
//
//	body
//
// The target is the path and query of a request. If a target has several
// answers, each request gets the next answer. The last answer is repeated. The
// lines with # and => are for readers and tests. They stand beside the target's
// first answer.
//
// The body is sent in the charset (utf-16) and the coding (gzip) that the
// headers name. A line "N × text" stands for N lines of text.
//
//go:embed hosts/*.txt
var files embed.FS

type answer struct {
	status int
	header http.Header
	body   []byte
}

// A host has the answers of one host, by their targets. Each list has at least
// one answer.
type host map[string][]answer

// readHosts reads the embedded files and adds their hosts to the map. In the
// files and in their names, it replaces ".example" by a dot and the domain. It
// fails only if a file has a mistake.
func readHosts(hosts map[string]host, domain string) error {
	entries, err := files.ReadDir("hosts")
	if err != nil {
		return err
	}
	renamed := strings.NewReplacer(".example", "."+domain)
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("hosts", entry.Name()))
		if err != nil {
			return err
		}
		h, err := parseHost(renamed.Replace(string(text)))
		if err != nil {
			return fmt.Errorf("demosite: %s: %w", entry.Name(), err)
		}
		hosts[renamed.Replace(strings.TrimSuffix(entry.Name(), ".txt"))] = h
	}
	return nil
}

func parseHost(text string) (host, error) {
	h := make(host)
	sections := strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n-- ")
	for _, section := range sections[1:] { // the first section is the remark
		title, rest, _ := strings.Cut(section, " --\n")
		target, code, _ := strings.Cut(title, " ")
		status, err := strconv.Atoi(code)
		if err != nil || !strings.HasPrefix(target, "/") {
			return nil, fmt.Errorf("section %q: want -- /target STATUS --", title)
		}
		head, body, _ := strings.Cut(rest, "\n\n")
		a := answer{status: status, header: make(http.Header)}
		for line := range strings.Lines(head) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "=> ") {
				continue
			}
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, fmt.Errorf("section %q: %q is not a header", title, line)
			}
			a.header.Add(textproto.TrimString(name), textproto.TrimString(value))
		}
		a.body = encode(repeated(strings.TrimSuffix(body, "\n")), a.header)
		h[target] = append(h[target], a)
	}
	return h, nil
}

// repeated replaces each line "N × text" of a body by N lines of text.
func repeated(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		count, text, _ := strings.Cut(line, " × ")
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			b.WriteString(strings.Repeat(text, n))
		} else {
			b.WriteString(line)
		}
	}
	return b.String()
}

// encode returns the body in the charset and the coding that the header names.
func encode(body string, h http.Header) []byte {
	b := []byte(body)
	if strings.Contains(h.Get("Content-Type"), "utf-16") {
		b = []byte{0xff, 0xfe} // the byte order mark, little-endian
		for _, unit := range utf16.Encode([]rune(body)) {
			b = binary.LittleEndian.AppendUint16(b, unit)
		}
	}
	if h.Get("Content-Encoding") != "gzip" {
		return b
	}
	var coded bytes.Buffer // its Write returns no error
	z := gzip.NewWriter(&coded)
	z.Write(b)
	z.Close()
	return coded.Bytes()
}
