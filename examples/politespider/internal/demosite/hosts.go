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
// remark. The host's responses follow:
//
//	-- TARGET STATUS --
//	# What the page shows.
//	=> What a polite crawler concludes.
//	Header: value
//
//	body
//
// The target is the path and query of a request. If a target has several
// responses, each request gets the next response. The last response is
// repeated. The lines with # and => are for readers and tests. They are part of
// the target's first response.
//
// The body is sent in the charset (utf-16) and the coding (gzip) that the
// headers contain. A line "N × text" represents N lines of text.
//
//go:embed hosts/*.txt
var files embed.FS

// A response is a response of a host.
type response struct {
	status int
	header http.Header
	body   []byte
}

// A host contains the responses of one host, by their targets. Each list has at
// least one response.
type host map[string][]response

// readHosts reads the embedded files and adds their hosts to the map. In the
// files and in their names, it replaces ".example" by a dot and the domain. It
// returns an error only if a file is invalid.
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

// parseHost parses the file of a host.
func parseHost(text string) (host, error) {
	h := make(host)
	sections := strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n-- ")
	for _, section := range sections[1:] { // the first section is the remark
		title, content, _ := strings.Cut(section, " --\n")
		target, code, _ := strings.Cut(title, " ")
		status, err := strconv.Atoi(code)
		if err != nil || !strings.HasPrefix(target, "/") {
			return nil, fmt.Errorf("section %q: want -- /target STATUS --", title)
		}
		head, body, _ := strings.Cut(content, "\n\n")
		header, err := parseHeader(head)
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", title, err)
		}
		body = repeatLines(strings.TrimSuffix(body, "\n"))
		h[target] = append(h[target], response{status, header, encode(body, header)})
	}
	return h, nil
}

// parseHeader parses the lines before the body of a response.
func parseHeader(head string) (http.Header, error) {
	header := make(http.Header)
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		isRemark := strings.HasPrefix(line, "#") || strings.HasPrefix(line, "=> ")
		if line == "" || isRemark {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q is not a header", line)
		}
		header.Add(textproto.TrimString(name), textproto.TrimString(value))
	}
	return header, nil
}

// repeatLines replaces each line "N × text" of a body by N lines of text.
func repeatLines(body string) string {
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

// encode returns the body in the charset and the coding of the header.
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
