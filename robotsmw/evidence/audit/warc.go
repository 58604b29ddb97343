package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/internal/bodycode"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A warcReader reads a WARC file from beginning to end, one record at a time.
// The file has version 1.0 or 1.1.
type warcReader struct {
	in     *bufio.Reader
	block  io.LimitedReader // the rest of the current record's block
	number int              // of the current record, counted from 1
	cut    bool             // the file ends within a record, or cannot be read to its end
}

// A warcRecord is a record of a WARC file.
type warcRecord struct {
	number int // counted from 1
	date   time.Time
	kind   string // "request", "response", "revisit", …
	target string // the URL
	header http.Header
	block  *block // valid until the next call of next
	err    error  // the reason why the record is broken; nil if it is not
}

// A block reads the block of a record. Read returns io.EOF only at the end of
// the block, and io.ErrUnexpectedEOF if the file ends earlier. If both errors
// were io.EOF, a truncated block would be indistinguishable from a shorter
// block. After an error, the next call of warcReader.next returns an error,
// too.
type block struct {
	*io.LimitedReader
	cut bool
}

func (b *block) Read(p []byte) (int, error) {
	n, err := b.LimitedReader.Read(p)
	if errors.Is(err, io.EOF) && b.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	b.cut = b.cut || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

var (
	errNotWARC   = errors.New("the file is not a WARC file")
	errField     = errors.New("the header of the record contains a line that is not a field")
	errWARCSize  = errors.New("the header of the record is larger than 64 KiB")
	errWARCBlock = errors.New("the Content-Length of the record is missing or not a number")
	errWARCDate  = errors.New("the WARC-Date of the record is missing or not a date")
	errHTTP      = errors.New("the block of the record is not HTTP")
)

const maxHeader = 64 << 10

// withoutEOF returns nil if err is the regular end of an input, and otherwise
// err.
func withoutEOF(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// unzip returns a Reader of the decompressed contents of in.
func unzip(in *bufio.Reader) (_ *bufio.Reader, isGzip bool, err error) {
	if !hasPrefix(in, "\x1f\x8b") {
		return in, false, nil
	}
	unpacked, err := gzip.NewReader(in)
	return bufio.NewReaderSize(unpacked, 64<<10), true, err
}

// hasPrefix reports whether the next bytes of in are those of prefix.
func hasPrefix(in *bufio.Reader, prefix string) bool {
	next, _ := in.Peek(len(prefix))
	return string(next) == prefix
}

func newWARCReader(r io.Reader) (*warcReader, error) {
	in, _, err := unzip(bufio.NewReaderSize(r, 64<<10))
	if err == nil && !hasPrefix(in, "WARC/") {
		err = errNotWARC
	}
	return &warcReader{in: in}, err
}

// next returns the next record, which may be broken. At the end of the file,
// the error is io.EOF. After any other error, the rest of the file cannot be
// read.
func (w *warcReader) next() (*warcRecord, error) {
	if _, err := io.Copy(io.Discard, &w.block); err != nil {
		w.cut = true
		return nil, fmt.Errorf("record %d: %w", w.number, err)
	}
	if w.block.N > 0 {
		w.block.N = 0
		w.cut = true
		return &warcRecord{number: w.number, err: io.ErrUnexpectedEOF}, nil
	}
	version, header, err := readHeader(w.in, maxHeader)
	if version == "" && err != nil && !errors.Is(err, errWARCSize) {
		return nil, err
	}
	w.number++
	r := &warcRecord{
		number: w.number,
		kind:   strings.ToLower(header.Get("Warc-Type")),
		target: strings.Trim(header.Get("Warc-Target-Uri"), "<>"),
		header: header,
		block:  &block{LimitedReader: &w.block},
	}
	switch {
	case !strings.HasPrefix(version, "WARC/"):
		r.err = errNotWARC
	case errors.Is(err, io.EOF):
		w.cut = true
		r.err = io.ErrUnexpectedEOF
	case errors.Is(err, errWARCSize), errors.Is(err, errField):
		r.err = err
	case err != nil:
		w.cut = true
		return nil, err
	default:
		r.err = w.open(r)
	}
	if r.err != nil {
		if err := w.skipToRecord(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// skipToRecord skips lines until one begins like a record. At the end of the
// file it returns nil, and the next call of next returns io.EOF.
func (w *warcReader) skipToRecord() error {
	for !hasPrefix(w.in, "WARC/1.") {
		_, err := w.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	return nil
}

// open reads the length and the date of a record. It returns an error if one of
// them is missing or invalid.
func (w *warcReader) open(r *warcRecord) error {
	length, err := strconv.ParseInt(r.header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return errWARCBlock
	}
	w.block = io.LimitedReader{R: w.in, N: length}
	r.date, err = time.Parse(time.RFC3339Nano, r.header.Get("Warc-Date"))
	if err != nil || r.date.Year() < 1971 || r.date.Year() > 2261 {
		_, err := io.Copy(io.Discard, &w.block)
		return cmp.Or(err, errWARCDate)
	}
	return nil
}

// readHeader reads the first line of a record or of an HTTP message, and the
// fields up to an empty line. Empty lines before the first line are skipped.
// The error is errField if some lines are not fields, and errWARCSize if the
// header has more than maxBytes bytes.
func readHeader(in *bufio.Reader, maxBytes int) (first string, fields http.Header, err error) {
	fields = make(http.Header)
	lines := lineReader{in: in}
	last := "" // the name of the latest field
	hasInvalid := false
	for size := 0; ; {
		line, err := lines.next()
		size += len(line)
		if errors.Is(err, errLong) || size > maxBytes {
			return first, fields, errWARCSize
		}
		if err != nil {
			return first, fields, err
		}
		if first == "" {
			first = string(line)
			continue
		}
		if len(line) == 0 {
			if hasInvalid {
				return first, fields, errField
			}
			return first, fields, nil
		}
		isContinuation := line[0] == ' ' || line[0] == '\t'
		name, value, ok := strings.Cut(string(line), ":")
		switch {
		case isContinuation && last != "":
			values := fields[last]
			values[len(values)-1] += " " + strings.TrimSpace(string(line))
		case isContinuation || !ok:
			hasInvalid = true
		default:
			last = http.CanonicalHeaderKey(strings.TrimSpace(name))
			fields[last] = append(fields[last], strings.TrimSpace(value))
		}
	}
}

// rounded returns by how many nanoseconds the date may have been rounded down.
func (r *warcRecord) rounded() int64 {
	if strings.Contains(r.header.Get("Warc-Date"), ".") {
		return 1e6
	}
	return 1e9
}

// A message is an HTTP request or response in a block.
type message struct {
	line   string // the request line or the status line
	status int    // of a response, or 0
	header http.Header
	body   *bufio.Reader
}

// http reads the HTTP message in a block up to its body.
func (r *warcRecord) http() (*message, error) {
	m := &message{body: bufio.NewReaderSize(r.block, 4<<10)}
	if hasPrefix(m.body, "\r") || hasPrefix(m.body, "\n") {
		return nil, errHTTP
	}
	var err error
	m.line, m.header, err = readHeader(m.body, 4*maxHeader)
	if errors.Is(err, errWARCSize) || m.line == "" {
		return nil, errHTTP
	}
	if err != nil && !errors.Is(err, errField) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	m.status = parseStatus(m.line)
	return m, nil
}

// parseStatus returns the status in a status line, or 0 if the line is not a
// status line.
func parseStatus(line string) int {
	version, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/") {
		return 0
	}
	code, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < 100 || status > 999 {
		return 0
	}
	return status
}

// content reads a body as a crawler does. It decodes the body, and reads at
// most one byte more than robotstxt.MaxSize. If the software that wrote the
// file has already decoded the body, the header contains a coding that the body
// does not have, and the body is read unchanged. content returns an error for a
// body in br or zstd, which are not supported.
func (m *message) content() ([]byte, error) {
	in := m.body
	if strings.EqualFold(m.header.Get("Transfer-Encoding"), "chunked") && beginsWithChunk(in) {
		in = bufio.NewReader(httputil.NewChunkedReader(in))
	}
	var body io.Reader = in
	var err error
	switch coding := strings.ToLower(m.header.Get("Content-Encoding")); coding {
	case "", "identity", "utf-8", "utf8", "gzip", "x-gzip":
		if bodycode.IsGzip(in) {
			body, err = bodycode.NewGzipReader(in)
		}
	case "deflate":
		if hasPrefix(in, "\x78") { // the usual first byte of zlib
			body, err = zlib.NewReader(in)
		}
	default:
		if !beginsWithText(in) {
			err = fmt.Errorf("the Content-Encoding %.40q is not supported", coding)
		}
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(body, robotstxt.MaxSize+1))
}

// beginsWithText reports whether the first bytes are text. Compressed data
// contains control characters, or is not valid UTF-8.
func beginsWithText(in *bufio.Reader) bool {
	begin, _ := in.Peek(in.Size())
	for n := 0; n < len(begin); {
		r, size := utf8.DecodeRune(begin[n:])
		isInvalid := r == utf8.RuneError && size == 1 && utf8.FullRune(begin[n:])
		isControl := r < ' ' && !strings.ContainsRune("\t\n\r\f", r)
		if isInvalid || isControl {
			return false
		}
		n += size
	}
	return true
}

// beginsWithChunk reports whether the first line is the size of a chunk.
func beginsWithChunk(in *bufio.Reader) bool {
	begin, _ := in.Peek(18)
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
	_, err := strconv.ParseUint(string(size), 16, 64)
	return ok && err == nil
}

// RobotsTxts returns the responses to requests for a robots.txt in a WARC file,
// which may be compressed with gzip. The Body of a 2xx is decoded, and contains
// at most one byte more than [robotstxt.MaxSize]. Other responses have an empty
// Body. Request.URL is the URL of the robots.txt. Header also contains the
// fields of the WARC record that begin with "Warc-", such as Warc-Date.
//
// If a record cannot be read, the error is not nil, and the response contains
// only a Request, whose URL may be nil. Other records may follow. If the
// response itself is nil, the rest of the file cannot be read.
func RobotsTxts(warc io.Reader) iter.Seq2[*http.Response, error] {
	return func(yield func(*http.Response, error) bool) {
		in, err := newWARCReader(warc)
		for err == nil {
			var r *warcRecord
			r, err = in.next()
			if err != nil {
				break
			}
			isRobotsTxt := r.kind == "response" && isRobots(r.target)
			if r.err == nil && !isRobotsTxt {
				continue
			}
			resp := r.robotsTxt()
			if r.block != nil && r.block.cut {
				continue // the next call of next reports the error
			}
			if r.err != nil {
				r.err = fmt.Errorf("record %d: %w", r.number, r.err)
			}
			if !yield(resp, r.err) {
				return
			}
		}
		if withoutEOF(err) != nil {
			yield(nil, err)
		}
	}
}

// robotsTxt returns the response in a record. If the record does not contain a
// valid one, robotsTxt sets r.err.
func (r *warcRecord) robotsTxt() *http.Response {
	resp := &http.Response{Request: &http.Request{Method: http.MethodGet}}
	if r.err == nil {
		resp.Request.URL, r.err = url.Parse(r.target)
	}
	if r.err != nil {
		return resp
	}
	m, err := r.http()
	if err != nil || m.status == 0 {
		r.err = cmp.Or(err, errHTTP)
		return resp
	}
	var body []byte
	if m.status/100 == 2 {
		if body, r.err = m.content(); r.err != nil {
			return resp
		}
	}
	for name, values := range r.header {
		if strings.HasPrefix(name, "Warc-") {
			m.header[name] = values
		}
	}
	resp.StatusCode = m.status
	resp.Header = m.header
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}
