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
	number int
	cut    bool // the file ends within a record, or cannot be read to its end
}

// A warcRecord is a record of a WARC file.
type warcRecord struct {
	number int // counted from 1
	date   time.Time
	kind   string // "request", "response", "revisit", …
	target string // the URL
	header http.Header
	block  *block // valid until the next call of next
	err    error  // why the record is broken; nil if it is not
}

// A block reads the block of a record. Read returns io.EOF only at the end of
// the block, and io.ErrUnexpectedEOF if the file ends earlier. If both errors
// were io.EOF, a block that is cut off would look like a shorter block. After
// an error, the next call of warcReader.next returns one too.
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
	errField     = errors.New("its header contains a line that is not a field")
	errWARCSize  = errors.New("its header is larger than 64 KiB")
	errWARCBlock = errors.New("its Content-Length is missing or not a number")
	errWARCDate  = errors.New("its WARC-Date is missing or not a date")
	errHTTP      = errors.New("its block is not HTTP")
)

const longestHeader = 64 << 10

// atEnd returns nil if err is the regular end of an input, and otherwise err.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// unzipped returns what the Reader has, without its compression.
func unzipped(in *bufio.Reader) (_ *bufio.Reader, zipped bool, err error) {
	if !begins(in, "\x1f\x8b") {
		return in, false, nil
	}
	unpacked, err := gzip.NewReader(in)
	return bufio.NewReaderSize(unpacked, 64<<10), true, err
}

func begins(in *bufio.Reader, with string) bool {
	begin, _ := in.Peek(len(with))
	return string(begin) == with
}

func newWARCReader(r io.Reader) (*warcReader, error) {
	in, _, err := unzipped(bufio.NewReaderSize(r, 64<<10))
	if err == nil && !begins(in, "WARC/") {
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
		w.block.N, w.cut = 0, true
		return &warcRecord{number: w.number, err: io.ErrUnexpectedEOF}, nil
	}
	version, header, err := readHeader(w.in, longestHeader)
	if version == "" && err != nil && !errors.Is(err, errWARCSize) {
		return nil, err
	}
	w.number++
	r := &warcRecord{number: w.number, header: header, kind: strings.ToLower(header.Get("Warc-Type")), target: strings.Trim(header.Get("Warc-Target-Uri"), "<>"), block: &block{LimitedReader: &w.block}}
	switch {
	case !strings.HasPrefix(version, "WARC/"):
		r.err = errNotWARC
	case errors.Is(err, io.EOF):
		w.cut, r.err = true, io.ErrUnexpectedEOF
	case errors.Is(err, errWARCSize), errors.Is(err, errField):
		r.err = err
	case err != nil:
		w.cut = true
		return nil, err
	default:
		r.err = w.open(r)
	}
	for r.err != nil && !begins(w.in, "WARC/1.") { // skip lines until one looks like the beginning of a record
		if _, err := w.in.ReadSlice('\n'); errors.Is(err, io.EOF) {
			break // the next call reports the end of the file
		} else if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	return r, nil
}

// open finds the block and the date of a record.
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
// fields up to an empty line. Empty lines before the first one are skipped. The
// error is errField if some lines are no fields, and errWARCSize if there are
// more than most bytes.
func readHeader(in *bufio.Reader, most int) (begin string, fields http.Header, err error) {
	fields = make(http.Header)
	lines, last, isOdd := lineReader{in: in}, "", false
	for size := 0; ; {
		line, err := lines.next()
		if size += len(line); errors.Is(err, errLong) || size > most {
			return begin, fields, errWARCSize
		}
		if err != nil {
			return begin, fields, err
		}
		name, value, ok := strings.Cut(string(line), ":")
		switch {
		case begin == "":
			begin = string(line)
		case len(line) == 0 && isOdd:
			return begin, fields, errField
		case len(line) == 0:
			return begin, fields, nil
		case (line[0] == ' ' || line[0] == '\t') && last != "": // it continues the field before it
			values := fields[last]
			values[len(values)-1] += " " + strings.TrimSpace(string(line))
		case !ok || line[0] == ' ' || line[0] == '\t':
			isOdd = true
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
	if begins(m.body, "\r") || begins(m.body, "\n") {
		return nil, errHTTP
	}
	var err error
	m.line, m.header, err = readHeader(m.body, 4*longestHeader)
	if errors.Is(err, errWARCSize) || m.line == "" {
		return nil, errHTTP
	}
	if err != nil && !errors.Is(err, errField) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	version, rest, _ := strings.Cut(m.line, " ")
	code, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if n, err := strconv.Atoi(code); strings.HasPrefix(version, "HTTP/") && err == nil && n >= 100 && n <= 999 {
		m.status = n
	}
	return m, nil
}

// content reads a body as a crawler does. It decodes the body, and reads at
// most one byte more than robotstxt.MaxSize. The header may name a coding that
// the body does not have, because the software that wrote the file has already
// decoded the body. The body is then read unchanged. br and zstd are not
// supported, so a body in them is an error.
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
		if begin, _ := in.Peek(1); string(begin) == "\x78" {
			body, err = zlib.NewReader(in)
		}
	default:
		if !beginsWithText(in) {
			err = fmt.Errorf("its Content-Encoding %.40q is not supported", coding)
		}
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(body, robotstxt.MaxSize+1))
}

// beginsWithText reports whether the first bytes are a text. Compressed data
// have control characters, or are not in UTF-8.
func beginsWithText(in *bufio.Reader) bool {
	begin, _ := in.Peek(in.Size())
	for n := 0; n < len(begin); {
		r, size := utf8.DecodeRune(begin[n:])
		isWhole := utf8.FullRune(begin[n:])
		isControl := r < ' ' && !strings.ContainsRune("\t\n\r\f", r)
		if isWhole && r == utf8.RuneError && size == 1 || isControl {
			return false
		}
		n += size
	}
	return true
}

func beginsWithChunk(in *bufio.Reader) bool {
	begin, _ := in.Peek(18)
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
	_, err := strconv.ParseUint(string(size), 16, 64)
	return ok && err == nil
}

// RobotsTxts returns the answers to requests for a robots.txt in a WARC file,
// which may be compressed with gzip. The Body of a 2xx is decoded; of a longer
// one it has one byte more than [robotstxt.MaxSize]. Other answers have an
// empty Body. Request.URL is the URL of the robots.txt. Header also has the
// fields of the WARC record that begin with "Warc-", such as Warc-Date.
//
// If a record cannot be read, there is an error, and others may follow. The
// response then has nothing but its Request, whose URL may be nil. If the
// response itself is nil, the rest of the file cannot be read.
func RobotsTxts(warc io.Reader) iter.Seq2[*http.Response, error] {
	return func(yield func(*http.Response, error) bool) {
		in, err := newWARCReader(warc)
		for err == nil {
			var r *warcRecord
			if r, err = in.next(); err != nil || r.err == nil && (r.kind != "response" || !isRobots(r.target)) {
				continue
			}
			resp := r.robotsTxt()
			if r.block != nil && r.block.cut {
				continue // the next call reports it
			}
			if r.err != nil {
				r.err = fmt.Errorf("record %d: %w", r.number, r.err)
			}
			if !yield(resp, r.err) {
				return
			}
		}
		if atEnd(err) != nil {
			yield(nil, err)
		}
	}
}

// robotsTxt returns the answer that a record has. If it cannot, it sets r.err.
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
	resp.StatusCode, resp.Header, resp.Body = m.status, m.header, io.NopCloser(bytes.NewReader(body))
	return resp
}
