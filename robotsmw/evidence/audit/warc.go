package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A WARCReader reads a WARC file from beginning to end, one record at a time.
// The file has version 1.0 or 1.1. It may be compressed with gzip.
type WARCReader struct {
	in     *bufio.Reader
	block  io.LimitedReader // the rest of the current record's block
	number int
	cut    bool // the file ends within a record, or cannot be read to its end
}

// A WARCRecord is a record of a WARC file.
type WARCRecord struct {
	Date      time.Time
	TargetURI string

	number int    // counted from 1
	kind   string // "request", "response", "revisit", …
	header http.Header
	block  io.Reader // valid until the next call of Next
}

// The type "block" reads a record's block. Read returns io.EOF only at the end
// of the block, and io.ErrUnexpectedEOF if the file ends earlier. If both
// errors were io.EOF, a block that is cut off would look like a shorter block.
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

// isCut reports whether reading the block has failed. If so, the next call of
// Next returns an error.
func (r *WARCRecord) isCut() bool {
	b, ok := r.block.(*block)
	return ok && b.cut
}

// A WARCError says why a record could not be read. Other records may follow.
type WARCError struct {
	Record int // counted from 1
	Err    error
}

func (e *WARCError) Error() string { return fmt.Sprintf("record %d: %v", e.Record, e.Err) }
func (e *WARCError) Unwrap() error { return e.Err }

var (
	errNotWARC   = errors.New("no WARC file")
	errWARCField = errors.New("a line of its header is no field")
	errWARCSize  = errors.New("its header is longer than 64 KiB")
	errWARCBlock = errors.New("it has no Content-Length that is a number")
	errWARCDate  = errors.New("it has no WARC-Date that is one")
)

const longestHeader = 64 << 10

// atEnd returns nil if err is the regular end of an input, and otherwise err.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// goesOn reports whether Next can return more records after this error. If so,
// it calls broken(err).
func goesOn(err error, broken func(error)) bool {
	if _, ok := errors.AsType[*WARCError](err); ok {
		broken(err)
		return true
	}
	return false
}

// NewWARCReader returns a reader of a WARC file. It returns an error if it
// cannot read the beginning of the file.
func NewWARCReader(r io.Reader) (*WARCReader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if isGzip(in) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(unpacked, 64<<10)
	}
	return newWARCReader(in)
}

func newWARCReader(in *bufio.Reader) (*WARCReader, error) {
	if !isWARC(in) {
		return nil, errNotWARC
	}
	return &WARCReader{in: in}, nil
}

func isGzip(in *bufio.Reader) bool {
	begin, _ := in.Peek(2)
	return string(begin) == "\x1f\x8b"
}

func isWARC(in *bufio.Reader) bool {
	begin, _ := in.Peek(len("WARC/"))
	return string(begin) == "WARC/"
}

// Next returns the next record. At the end of the file, the error is io.EOF.
// For a broken record, the error is a *WARCError, and the next call returns the
// record after it. After any other error, the rest of the file cannot be read.
func (w *WARCReader) Next() (*WARCRecord, error) {
	if _, err := io.Copy(io.Discard, &w.block); err != nil {
		w.cut = true
		return nil, fmt.Errorf("record %d: %w", w.number, err)
	}
	if w.block.N > 0 {
		w.block.N, w.cut = 0, true
		return nil, &WARCError{w.number, io.ErrUnexpectedEOF}
	}
	r, err := w.header()
	if err == nil || errors.Is(err, io.EOF) {
		return r, err
	}
	if _, ok := errors.AsType[*WARCError](err); ok {
		if skipErr := w.resync(); skipErr != nil {
			return nil, skipErr
		}
	}
	return nil, err
}

func (w *WARCReader) header() (*WARCRecord, error) {
	lines := lineReader{in: w.in}
	var version []byte
	for len(version) == 0 { // skip the empty lines at the end of the previous record
		var err error
		if version, err = lines.next(); errors.Is(err, errLong) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	w.number++
	broken := func(err error) (*WARCRecord, error) { return nil, &WARCError{w.number, err} }
	if !bytes.HasPrefix(version, []byte("WARC/")) {
		return broken(errNotWARC)
	}
	r := &WARCRecord{number: w.number, header: make(http.Header)}
	last, size := "", len(version)
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, errLong):
			return broken(errWARCSize)
		case errors.Is(err, io.EOF):
			w.cut = true
			return broken(io.ErrUnexpectedEOF)
		case err != nil:
			w.cut = true
			return nil, err
		}
		if size += len(line); size > longestHeader {
			return broken(errWARCSize)
		}
		if len(line) == 0 {
			break
		}
		if !r.field(string(line), &last) {
			return broken(errWARCField)
		}
	}
	length, err := strconv.ParseInt(r.header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return broken(errWARCBlock)
	}
	w.block = io.LimitedReader{R: w.in, N: length}
	date := r.header.Get("Warc-Date")
	if r.Date, err = time.Parse(time.RFC3339Nano, date); err != nil || r.Date.Year() < 1971 || r.Date.Year() > 2261 {
		if _, err := io.Copy(io.Discard, &w.block); err != nil {
			return nil, err
		}
		return broken(errWARCDate)
	}
	r.kind = strings.ToLower(r.header.Get("Warc-Type"))
	r.TargetURI = strings.Trim(r.header.Get("Warc-Target-Uri"), "<>")
	r.block = &block{LimitedReader: &w.block}
	return r, nil
}

// field adds a line of the header. last is the name of the field before it,
// which the line may continue.
func (r *WARCRecord) field(line string, last *string) bool {
	name, value, ok := strings.Cut(line, ":")
	switch continues := line[0] == ' ' || line[0] == '\t'; {
	case continues && *last != "":
		values := r.header[*last]
		values[len(values)-1] += " " + strings.TrimSpace(line)
	case continues || !ok:
		return false
	default:
		*last = http.CanonicalHeaderKey(strings.TrimSpace(name))
		r.header.Add(*last, strings.TrimSpace(value))
	}
	return true
}

// resync skips lines until one looks like the beginning of a record.
func (w *WARCReader) resync() error {
	for {
		begin, err := w.in.Peek(len("WARC/1."))
		if string(begin) == "WARC/1." {
			return nil
		}
		if err != nil && len(begin) == 0 {
			if errors.Is(err, io.EOF) {
				return nil // the next call of Next reports the end of the file
			}
			return err
		}
		if _, err := w.in.ReadSlice('\n'); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// rounded returns by how many nanoseconds the date may have been rounded down.
func (r *WARCRecord) rounded() int64 {
	date := r.header.Get("Warc-Date")
	unit := int64(1e9)
	if _, after, ok := strings.Cut(date, "."); ok {
		for i := 0; i < len(after) && '0' <= after[i] && after[i] <= '9' && unit > 1; i++ {
			unit /= 10
		}
	}
	return unit
}

// A message is an HTTP request or response in a block.
type message struct {
	line   string // the request line or the status line
	header http.Header
	body   *bufio.Reader
}

var errHTTP = errors.New("its block is not HTTP")

// http reads the first line and the header of the HTTP message in a block. The
// message's body can then be read.
func (r *WARCRecord) http() (*message, error) {
	in := bufio.NewReaderSize(r.block, 4<<10)
	m := &message{header: make(http.Header), body: in}
	lines := lineReader{in: in}
	for size := 0; ; {
		line, err := lines.next()
		size += len(line)
		switch {
		case errors.Is(err, errLong), size > 4*longestHeader, m.line == "" && (len(line) == 0 && err == nil || errors.Is(err, io.EOF)):
			return nil, errHTTP
		case errors.Is(err, io.EOF):
			return m, nil
		case err != nil:
			return nil, err
		case m.line == "":
			m.line = string(line)
		case len(line) == 0:
			return m, nil
		default:
			if name, value, ok := strings.Cut(string(line), ":"); ok {
				m.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	}
}

func (m *message) status() (int, error) {
	version, rest, _ := strings.Cut(m.line, " ")
	code, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(code)
	if !strings.HasPrefix(version, "HTTP/") || err != nil || n < 100 || n > 999 {
		return 0, errHTTP
	}
	return n, nil
}

// content reads a body as a crawler does. It decodes the body, and reads at
// most one byte more than robotstxt.MaxSize. The header may name a coding that
// the body does not have, because the software that wrote the file has already
// decoded the body. The body is then read as it is.
func (m *message) content() ([]byte, error) {
	in := m.body
	if strings.EqualFold(m.header.Get("Transfer-Encoding"), "chunked") && beginsWithChunk(in) {
		in = bufio.NewReader(httputil.NewChunkedReader(in))
	}
	var body io.Reader = in
	switch coding := strings.ToLower(m.header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		if isGzip(in) {
			unpacked, err := gzip.NewReader(in)
			if err != nil {
				return nil, err
			}
			body = unpacked
		}
	case "deflate":
		if begin, _ := in.Peek(2); len(begin) == 2 && begin[0]&0xf == 8 && (int(begin[0])<<8|int(begin[1]))%31 == 0 {
			unpacked, err := zlib.NewReader(in)
			if err != nil {
				return nil, err
			}
			body = unpacked
		}
	default:
		return nil, fmt.Errorf("its Content-Encoding %.40q is not known here", coding)
	}
	text, err := io.ReadAll(io.LimitReader(body, robotstxt.MaxSize+1))
	if err != nil {
		return nil, err
	}
	return text, nil
}

func beginsWithChunk(in *bufio.Reader) bool {
	begin, _ := in.Peek(18)
	line, _, ok := bytes.Cut(begin, []byte("\n"))
	if !ok {
		return false
	}
	size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
	_, err := strconv.ParseUint(string(size), 16, 64)
	return err == nil
}

// RobotsTxt returns the status and the body of a response to a request for
// robots.txt. The body is decoded. If the body is longer than
// [robotstxt.MaxSize], RobotsTxt returns one byte more than MaxSize. ok is
// false if the record is no response to such a request, or if it is cut off.
// After a record that is cut off, the next call of Next returns an error.
func (r *WARCRecord) RobotsTxt() (status int, body []byte, ok bool, err error) {
	if r.kind != "response" || !isRobots(r.TargetURI) {
		return 0, nil, false, nil
	}
	defer func() {
		if r.isCut() {
			status, body, ok, err = 0, nil, false, nil
		}
	}()
	m, err := r.http()
	if err != nil {
		return 0, nil, true, &WARCError{r.number, err}
	}
	if status, err = m.status(); err != nil {
		return 0, nil, true, &WARCError{r.number, err}
	}
	if body, err = m.content(); err != nil {
		return status, nil, true, &WARCError{r.number, err}
	}
	return status, body, true, nil
}
