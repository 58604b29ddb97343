package evidence

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
)

// An exchange is a request for a robots.txt and its response, in the form that
// the WARC file needs.
type exchange struct {
	url       string
	host      string // the Host of the request, if it differs from the URL's
	time      time.Time
	request   []byte // the request with its header, in the form of HTTP/1.1
	header    []byte // the header of the response, with the status line; nil without a response
	body      []byte
	protocol  string // "h2" for HTTP/2, otherwise ""
	truncated string // the value of WARC-Truncated; "" if the body is complete
	renewed   bool   // the response is a 304 to a conditional request
	whole     bool   // a 2xx whose body was read without an error; a later 304 may confirm it
}

func (x *exchange) size() int {
	return len(x.url) + len(x.request) + len(x.header) + len(x.body)
}

// newExchange returns the exchange of a response. body is the part of the
// response's body that was read. err is the error of the request or of reading
// the body.
func newExchange(resp *http.Response, body []byte, err error, now time.Time) *exchange {
	req := resp.Request
	x := &exchange{url: req.URL.String(), time: now}
	if req.Host != req.URL.Host {
		x.host = req.Host
	}
	header := http.Header{"Host": {cmp.Or(req.Host, req.URL.Host)}}
	maps.Copy(header, req.Header)
	x.request = message(req.Method+" "+req.URL.RequestURI()+" HTTP/1.1", header)
	status := resp.StatusCode
	if status == 0 {
		return x
	}

	if resp.ProtoMajor == 2 {
		x.protocol = "h2"
	}
	// Some fields do not describe the recorded body, which is decoded and may
	// be truncated. They get the names that other crawlers use for such fields.
	header = make(http.Header)
	maps.Copy(header, resp.Header)
	rename := func(name string) {
		if values, ok := header[name]; ok {
			delete(header, name)
			header["X-Crawler-"+name] = values
		}
	}
	rename("Transfer-Encoding")
	if isDecoded(resp) {
		rename("Content-Encoding")
	}
	if length := strconv.Itoa(len(body)); header.Get("Content-Length") != length {
		rename("Content-Length")
		if status != http.StatusNotModified && status != http.StatusNoContent {
			header["Content-Length"] = []string{length}
		}
	}
	text := strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(status)))
	x.header = message(
		fmt.Sprint("HTTP/1.1 ", status, " ", cmp.Or(text, http.StatusText(status))),
		header,
	)
	x.body = bytes.Clone(body)
	x.truncated = truncated(resp, len(body), err)
	x.renewed = status == http.StatusNotModified && isConditional(req)
	x.whole = status/100 == 2 && err == nil
	return x
}

func isConditional(req *http.Request) bool {
	return req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != ""
}

// isDecoded reports whether the body that Observer.Asked receives is decoded.
// Otherwise it still has the content coding of the response.
func isDecoded(resp *http.Response) bool {
	status := resp.StatusCode
	return resp.Uncompressed || status/100 == 2 || status/100 == 4 && !httpstatus.IsThrottled(status)
}

const (
	// maxBodyBytes is equal to robotstxt.MaxSize. Further bytes of a robots.txt
	// are ignored. robotsmw reads one more byte to detect a longer file.
	maxBodyBytes = 500 << 10

	// maxErrorBytes limits what robotsmw reads of a body if the status is a 4xx
	// other than 429. It is equal to refusal.Window.
	maxErrorBytes = 16 << 10
)

// truncated returns the value of WARC-Truncated for a response, or "" if its
// whole body is recorded. read is the number of recorded bytes, and err is the
// error of the request or of reading the body.
func truncated(resp *http.Response, read int, err error) string {
	coded := len(resp.Header["Content-Encoding"]) > 0
	decoded := coded && isDecoded(resp)
	switch {
	case err != nil:
		return "disconnect"
	case read > maxBodyBytes, !decoded && resp.ContentLength > int64(read):
		return "length"
	case resp.StatusCode/100 == 4 && read >= maxErrorBytes && (decoded || resp.ContentLength < 0):
		return "length"
	case resp.StatusCode >= 200 && !isDecoded(resp) && resp.ContentLength < 0:
		return "unspecified" // robotsmw does not read a 3xx, 429 or 5xx body of unknown length
	}
	return ""
}

// A header field is omitted if it or the whole header would be larger than
// these limits.
const (
	maxFieldBytes  = 8 << 10
	maxHeaderBytes = 64 << 10
)

// message returns the part of an HTTP/1.1 message that precedes the body.
// firstLine is the request line or status line, without its line break.
func message(firstLine string, h http.Header) []byte {
	b := []byte(clean(firstLine) + "\r\n")
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if len(name)+len(value) <= maxFieldBytes && len(b)+len(value) <= maxHeaderBytes {
				b = append(b, clean(name)+": "+clean(value)+"\r\n"...)
			}
		}
	}
	return append(b, "\r\n"...)
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

// clean replaces line breaks and NUL, which a header must not contain, with
// spaces.
func clean(text string) string { return lineBreaks.Replace(text) }

// A warcFile is the WARC file of the open segment.
type warcFile struct {
	name  string
	info  string                         // the ID of the warcinfo record
	out   []byte                         // records that have not yet been written to the file
	good  int64                          // the number of bytes in the file
	sum   hash.Hash                      // the hash of the bytes in the file
	known map[[sha256.Size]byte]response // whole responses by a hash of URL and Host, because a URL may be long
	zip   *gzip.Writer                   // nil before the first record
}

// A response is a record to which a later revisit record may refer.
type response struct {
	id   string
	time time.Time
}

// maxResponses limits how many responses a warcFile keeps for revisits. When
// the limit is reached, all of them are removed.
const maxResponses = 100_000

func (w *warcFile) begin(name string, now time.Time) {
	w.name = name
	w.info = w.id()
	w.out = nil
	w.good = 0
	w.sum = sha256.New()
	lines := strings.Replace(strings.TrimSuffix(name, ".warc.gz"), "robots", "evidence", 1) + ".jsonl"
	w.add("warcinfo", w.info, now, []byte("software: "+software()+"\r\n"+
		"format: WARC File Format 1.1\r\n"+
		"conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"+
		"robots: obeyed according to RFC 9309\r\n"+
		"description: robots.txt files as the crawler received them; the metadata records are lines of "+lines+"\r\n"),
		"WARC-Filename", name, "Content-Type", "application/warc-fields")
}

// fileMember returns the JSON value that describes a WARC file: its name, size
// and hash.
func fileMember(name string, size int64, sum hash.Hash) json.RawMessage {
	return fmt.Appendf(nil, `{"file":"%s","bytes":%d,"sha256":"%x"}`, name, size, sum.Sum(nil))
}

func (w *warcFile) fileMember() json.RawMessage { return fileMember(w.name, w.good, w.sum) }

// readFileMember returns fileMember for an existing WARC file, or nil if the
// file cannot be read.
func readFileMember(dir, name string) json.RawMessage {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return nil
	}
	return fileMember(name, n, sum)
}

func (w *warcFile) id() string { return "<urn:uuid:" + newUUID() + ">" }

// newUUID returns a random UUID, of version 4 (RFC 9562 §5.4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// addExchange adds the records of an exchange. It returns a comma and the JSON
// member "warc", which contains the positions of these records.
func (w *warcFile) addExchange(x *exchange) []byte {
	requestID := w.id()
	responseID := w.id()
	target := escapeURI(x.url)
	concurrent := responseID
	if x.header == nil {
		concurrent = ""
	}
	position := w.add("request", requestID, x.time, x.request, "WARC-Target-URI", target, "WARC-Concurrent-To", concurrent,
		"WARC-Block-Digest", digest(x.request), "Content-Type", "application/http;msgtype=request")
	member := fmt.Sprintf(`,"warc":{"file":"%s","request":%s`, w.name, position)
	if x.header == nil {
		return []byte(member + "}")
	}

	key := sha256.Sum256(fmt.Appendf(nil, "%q %q", x.url, x.host))
	fields := []string{"WARC-Target-URI", target, "WARC-Concurrent-To", requestID, "WARC-Protocol", x.protocol}
	var kind string
	var block []byte
	if x.renewed {
		kind = "revisit"
		block = x.header
		fields = append(
			fields,
			"WARC-Profile",
			"http://netpreserve.org/warc/1.1/revisit/server-not-modified",
		)
		if original, ok := w.known[key]; ok {
			fields = append(
				fields,
				"WARC-Refers-To",
				original.id,
				"WARC-Refers-To-Target-URI",
				target,
				"WARC-Refers-To-Date",
				original.time.UTC().Format(timestampLayout),
			)
		}
	} else {
		kind = "response"
		block = slices.Concat(x.header, x.body)
		fields = append(
			fields,
			"WARC-Truncated",
			x.truncated,
			"WARC-Payload-Digest",
			digest(x.body),
		)
		if x.whole {
			w.remember(key, response{responseID, x.time})
		}
	}
	fields = append(
		fields,
		"WARC-Block-Digest",
		digest(block),
		"Content-Type",
		"application/http;msgtype=response",
	)
	return fmt.Appendf(nil, `%s,"%s":%s}`, member, kind, w.add(kind, responseID, x.time, block, fields...))
}

// remember stores a response to which later revisit records may refer.
func (w *warcFile) remember(key [sha256.Size]byte, r response) {
	if w.known == nil || len(w.known) >= maxResponses {
		w.known = make(map[[sha256.Size]byte]response)
	}
	w.known[key] = r
}

// addLine adds a metadata record whose content is a line of the segment. target
// is the WARC-Target-URI, or "" for none.
func (w *warcFile) addLine(target string, now time.Time, line []byte) {
	w.add("metadata", w.id(), now, line, "WARC-Target-URI", escapeURI(target), "Content-Type", "application/json")
}

// add adds a record as a separate gzip member. fields are alternating names and
// values of its header; fields without a value are omitted. add returns the
// position of the record as JSON.
func (w *warcFile) add(kind, id string, at time.Time, block []byte, fields ...string) string {
	head := []byte("WARC/1.1\r\n")
	fields = append([]string{"WARC-Type", kind, "WARC-Record-ID", id, "WARC-Date", at.UTC().Format(timestampLayout)}, fields...)
	if kind != "warcinfo" {
		fields = append(fields, "WARC-Warcinfo-ID", w.info)
	}
	fields = append(fields, "Content-Length", strconv.Itoa(len(block)))
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] != "" {
			head = append(head, fields[i]+": "+fields[i+1]+"\r\n"...)
		}
	}
	var packed bytes.Buffer
	if w.zip == nil {
		w.zip = gzip.NewWriter(&packed) // reused, because it is expensive to allocate
	}
	w.zip.Reset(&packed)
	w.zip.Write(slices.Concat(head, []byte("\r\n"), block, []byte("\r\n\r\n"))) // writing to memory never fails
	w.zip.Close()
	offset := w.good + int64(len(w.out))
	w.out = append(w.out, packed.Bytes()...)
	return fmt.Sprintf(`{"offset":%d,"length":%d,"sha256":"%x"}`,
		offset, packed.Len(), sha256.Sum256(packed.Bytes()))
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (w *warcFile) flush(f io.Writer) error {
	if _, err := f.Write(w.out); err != nil {
		return err
	}
	w.good += int64(len(w.out))
	w.sum.Write(w.out)
	w.out = nil
	return nil
}

// escapeURI escapes characters that a field of a WARC record must not contain.
func escapeURI(url string) string {
	var b []byte
	for _, c := range []byte(url) {
		if c <= ' ' || c >= 0x7f {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// software returns the path of this module, followed by a space and its version
// if the version is known.
var software = sync.OnceValue(func() string {
	const path = "github.com/goodbots/courtesy"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return path
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path && m.Version != "" {
			return path + " " + m.Version
		}
	}
	return path
})
