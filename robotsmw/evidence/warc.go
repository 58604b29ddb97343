package evidence

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An exchange is a request for a robots.txt and its answer, in the form that
// the WARC file needs.
type exchange struct {
	url       string
	host      string // the Host of the request, if it is not the URL's
	time      time.Time
	request   []byte // the request with its header, in the form of HTTP/1.1
	header    []byte // the header of the response, with the status line; nil if no response came
	body      []byte
	protocol  string // "h2" for HTTP/2, otherwise ""
	truncated string
	renewed   bool // the response is a 304 to a conditional request
	whole     bool // a 2xx that was read without an error; a later 304 may confirm it
}

func (x *exchange) size() int {
	return len(x.url) + len(x.request) + len(x.header) + len(x.body)
}

// exchangeOf returns a request and its response as an exchange. body is the
// part of the response's body that was read. err is the error of the request or
// of reading the body.
func exchangeOf(resp *http.Response, body []byte, err error, now time.Time) *exchange {
	req := resp.Request
	x := &exchange{url: req.URL.String(), time: now}
	if req.Host != "" && req.Host != req.URL.Host {
		x.host = req.Host
	}
	var b bytes.Buffer
	b.WriteString(req.Method + " " + req.URL.RequestURI() + " HTTP/1.1\r\n")
	writeField(&b, "Host", cmp.Or(req.Host, req.URL.Host))
	writeHeader(&b, req.Header, nil)
	b.WriteString("\r\n")
	x.request = bytes.Clone(b.Bytes())
	if resp.StatusCode == 0 {
		return x
	}

	b.Reset()
	if resp.ProtoMajor == 2 {
		x.protocol = "h2"
	}
	text := strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)))
	text = cmp.Or(text, http.StatusText(resp.StatusCode))
	b.WriteString("HTTP/1.1 " + strconv.Itoa(resp.StatusCode) + " " + clean(text) + "\r\n")
	// Some fields are no longer true, because the body is decoded and may be
	// cut. They get the names that other crawlers use for such fields.
	renamed := map[string]string{"Transfer-Encoding": "X-Crawler-Transfer-Encoding"}
	decoded := len(resp.Header["Content-Encoding"]) > 0 && isDecoded(resp)
	if decoded {
		renamed["Content-Encoding"] = "X-Crawler-Content-Encoding"
	}
	if resp.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
		renamed["Content-Length"] = "X-Crawler-Content-Length"
	}
	writeHeader(&b, resp.Header, renamed)
	if resp.StatusCode != http.StatusNotModified && resp.StatusCode != http.StatusNoContent && renamed["Content-Length"] != "" {
		writeField(&b, "Content-Length", strconv.Itoa(len(body)))
	}
	b.WriteString("\r\n")
	x.header, x.body = bytes.Clone(b.Bytes()), bytes.Clone(body)
	switch {
	case err != nil:
		x.truncated = "disconnect"
	case !decoded && resp.ContentLength > int64(len(body)), len(body) > longestBody:
		x.truncated = "length"
	case resp.StatusCode/100 == 4 && len(body) >= longestError && (decoded || resp.ContentLength < 0):
		x.truncated = "length"
	case resp.StatusCode >= 200 && !isDecoded(resp) && resp.ContentLength < 0:
		x.truncated = "unspecified" // robotsmw does not read a 3xx, 429 or 5xx body of unknown length
	}
	conditional := req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != ""
	x.renewed = resp.StatusCode == http.StatusNotModified && conditional
	x.whole = resp.StatusCode >= 200 && resp.StatusCode <= 299 && err == nil
	return x
}

// isDecoded reports whether Observer.Asked gets a body that has been decoded
// already. Otherwise the body still has its content coding.
func isDecoded(resp *http.Response) bool {
	status := resp.StatusCode
	return resp.Uncompressed || status/100 == 2 || status/100 == 4 && status != http.StatusTooManyRequests
}

// longestBody is equal to robotstxt.MaxSize. Further bytes of a robots.txt are
// ignored. robotsmw reads one more byte to find out whether the file is longer.
const longestBody = 500 << 10

// longestError limits, in bytes, what robotsmw reads of a body if the status is
// a 4xx other than 429. It is equal to refusal.Window.
const longestError = 16 << 10

// longestField is the limit for a header field, and longestHeader the limit for
// a whole header, both in bytes. A field is left out if one of these limits
// would be exceeded.
const longestField, longestHeader = 8 << 10, 64 << 10

func writeHeader(b *bytes.Buffer, h http.Header, renamed map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			if len(name)+len(value) <= longestField && b.Len()+len(value) <= longestHeader {
				writeField(b, cmp.Or(renamed[name], name), value)
			}
		}
	}
}

func writeField(b *bytes.Buffer, name, value string) {
	b.WriteString(clean(name))
	b.WriteString(": ")
	b.WriteString(clean(value))
	b.WriteString("\r\n")
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

func clean(text string) string { return lineBreaks.Replace(text) }

// A warcFile is the WARC file of the open segment.
type warcFile struct {
	name   string
	info   string    // the id of the warcinfo record
	out    []byte    // records that are not on the disk yet
	good   int64     // how many bytes are on the disk
	sum    hash.Hash // the hash of the bytes on the disk
	random *rand.ChaCha8
	known  map[string]earlier
	gzip   *gzip.Writer
	packed bytes.Buffer
}

// The type "earlier" identifies a response to which a later revisit record may
// refer.
type earlier struct {
	id   string
	time time.Time
}

// mostKnown is how many responses a warcFile remembers at most, for revisits.
// When it has that many, it forgets all of them before it remembers another.
const mostKnown = 100_000

func (w *warcFile) begin(name string, now time.Time) {
	w.name, w.good, w.sum, w.out, w.info = name, 0, sha256.New(), w.out[:0], w.id()
	head := w.appendHead(nil, "warcinfo", w.info, now)
	head = appendField(head, "WARC-Filename", name)
	w.member(head, []byte("software: "+software()+"\r\n"+
		"format: WARC File Format 1.1\r\n"+
		"conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"+
		"robots: obeyed as RFC 9309 says\r\n"+
		"description: robots.txt as the crawl saw it; the metadata records are lines of "+strings.Replace(strings.TrimSuffix(name, ".warc.gz"), "robots", "evidence", 1)+".jsonl\r\n"),
		"application/warc-fields")
}

// whole describes the part of the file that is on the disk.
func (w *warcFile) whole() *whole {
	return &whole{w.name, w.good, [sha256.Size]byte(w.sum.Sum(nil))}
}

type whole struct {
	name  string
	bytes int64
	hash  [sha256.Size]byte
}

// wholeOf reads a WARC file and describes it. It returns nil if it cannot read
// the file.
func wholeOf(dir, name string) *whole {
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
	return &whole{name, n, [sha256.Size]byte(sum.Sum(nil))}
}

func appendWhole(b []byte, f *whole) []byte {
	if f == nil {
		return b
	}
	return fmt.Appendf(b, `,"warc":{"file":"%s","bytes":%d,"sha256":"%x"}`, f.name, f.bytes, f.hash)
}

func (w *warcFile) id() string { return "urn:uuid:" + newUUID(w.random) }

// newUUID returns a random UUID, of version 4 (RFC 9562 §5.4).
func newUUID(random *rand.ChaCha8) string {
	var b [16]byte
	random.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A place says where a compressed record is in the WARC file.
type place struct {
	offset, length int64
	hash           [sha256.Size]byte
}

// exchange appends the records of an exchange to w. It returns the JSON member
// "warc", which says where these records are.
func (w *warcFile) exchange(x *exchange) []byte {
	b := append(appendMember(nil, "warc"), `{"file":"`...)
	b = append(append(b, w.name...), '"')
	id, other := w.id(), w.id()

	head := w.appendHead(nil, "request", other, x.time)
	head = appendField(head, "WARC-Target-URI", uri(x.url))
	if x.header != nil {
		head = appendField(head, "WARC-Concurrent-To", "<"+id+">")
	}
	head = appendDigest(head, "WARC-Block-Digest", x.request)
	b = appendPlace(b, "request", w.member(head, x.request, "application/http;msgtype=request"))
	if x.header == nil {
		return append(b, '}')
	}

	kind := "response"
	if x.renewed {
		kind = "revisit"
	}
	block := slices.Concat(x.header, x.body)
	head = w.appendHead(nil, kind, id, x.time)
	head = appendField(head, "WARC-Target-URI", uri(x.url))
	head = appendField(head, "WARC-Concurrent-To", "<"+other+">")
	if x.protocol != "" {
		head = appendField(head, "WARC-Protocol", x.protocol)
	}
	key := x.url + " " + x.host
	if x.renewed {
		block = x.header
		head = appendField(head, "WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/server-not-modified")
		if e, ok := w.known[key]; ok {
			head = appendField(head, "WARC-Refers-To", "<"+e.id+">")
			head = appendField(head, "WARC-Refers-To-Target-URI", uri(x.url))
			head = appendField(head, "WARC-Refers-To-Date", string(appendRFC3339(nil, e.time)))
		}
	} else {
		if x.truncated != "" {
			head = appendField(head, "WARC-Truncated", x.truncated)
		}
		head = appendDigest(head, "WARC-Payload-Digest", x.body)
		if x.whole {
			if w.known == nil || len(w.known) >= mostKnown {
				w.known = make(map[string]earlier)
			}
			w.known[key] = earlier{id, x.time}
		}
	}
	head = appendDigest(head, "WARC-Block-Digest", block)
	return append(appendPlace(b, kind, w.member(head, block, "application/http;msgtype=response")), '}')
}

// fact appends a metadata record. Its content is a line of the segment. about
// is the WARC-Target-URI, or "" for none.
func (w *warcFile) fact(about string, now time.Time, line []byte) {
	head := w.appendHead(nil, "metadata", w.id(), now)
	if about != "" {
		head = appendField(head, "WARC-Target-URI", uri(about))
	}
	w.member(head, line, "application/json")
}

// member appends a record as a gzip member of its own. kind is the Content-Type
// of the record.
func (w *warcFile) member(head, block []byte, kind string) place {
	w.packed.Reset()
	if w.gzip == nil {
		w.gzip = gzip.NewWriter(&w.packed)
	} else {
		w.gzip.Reset(&w.packed)
	}
	head = appendField(head, "Content-Type", kind)
	head = appendField(head, "Content-Length", strconv.Itoa(len(block)))
	head = append(head, "\r\n"...)
	w.gzip.Write(head) // writes into memory never fail
	w.gzip.Write(block)
	w.gzip.Write([]byte("\r\n\r\n"))
	w.gzip.Close()
	p := place{w.good + int64(len(w.out)), int64(w.packed.Len()), sha256.Sum256(w.packed.Bytes())}
	w.out = append(w.out, w.packed.Bytes()...)
	return p
}

func (w *warcFile) flush(f io.Writer) error {
	if len(w.out) == 0 {
		return nil
	}
	n, err := f.Write(w.out)
	if err == nil && n < len(w.out) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	w.good += int64(len(w.out))
	w.sum.Write(w.out)
	if w.out = w.out[:0]; cap(w.out) > 1<<20 {
		w.out = nil
	}
	return nil
}

func (w *warcFile) appendHead(b []byte, kind, id string, at time.Time) []byte {
	b = append(b, "WARC/1.1\r\nWARC-Type: "...)
	b = append(b, kind...)
	b = append(b, "\r\nWARC-Record-ID: <"...)
	b = append(b, id...)
	b = append(b, ">\r\nWARC-Date: "...)
	b = append(appendRFC3339(b, at), "\r\n"...)
	if kind != "warcinfo" {
		b = append(b, "WARC-Warcinfo-ID: <"...)
		b = append(b, w.info...)
		b = append(b, ">\r\n"...)
	}
	return b
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

func appendDigest(b []byte, name string, data []byte) []byte {
	sum := sha256.Sum256(data)
	return appendField(b, name, "sha256:"+hex.EncodeToString(sum[:]))
}

func appendPlace(b []byte, name string, p place) []byte {
	return fmt.Appendf(b, `,"%s":{"offset":%d,"length":%d,"sha256":"%x"}`, name, p.offset, p.length, p.hash)
}

// uri escapes what may not stand in a field of a WARC record.
func uri(url string) string {
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
