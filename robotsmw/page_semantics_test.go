package robotsmw

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// An observed is what a caller observes of a response and its body.
type observed struct {
	DoErr                   string
	Status, Proto           string
	Header                  http.Header
	Length                  int64
	Encoding                []string
	Uncompressed, WillClose bool
	TrailerBefore           http.Header
	TrailerAfter            http.Header
	Writable, NoBody        bool
	Body                    string
	ReadErr, AgainErr       string
	CloseErr, AfterCloseErr string
}

// observe makes one request and reads the response's body in pieces, until the
// limit is reached. A negative limit means the whole body.
func observe(client *http.Client, method, url string, limit, piece int, edit func(*http.Request)) (o observed) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("User-Agent", testAgent)
	if edit != nil {
		edit(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		o.DoErr = err.Error()
		return o
	}
	o.Status = resp.Status
	o.Proto = resp.Proto
	o.Header = resp.Header.Clone()
	o.Length = resp.ContentLength
	o.Encoding = resp.TransferEncoding
	o.Uncompressed = resp.Uncompressed
	o.WillClose = resp.Close
	o.TrailerBefore = resp.Trailer.Clone()
	_, o.Writable = resp.Body.(io.Writer)
	o.NoBody = resp.Body == http.NoBody
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return fmt.Sprintf("%T %v unexpected=%v", err, err, errors.Is(err, io.ErrUnexpectedEOF))
	}
	if !o.Writable {
		buf := make([]byte, piece)
		for limit < 0 || len(o.Body) < limit {
			n, err := resp.Body.Read(buf)
			o.Body += string(buf[:n])
			if err != nil {
				o.ReadErr = text(err)
				_, err = resp.Body.Read(buf)
				o.AgainErr = text(err)
				break
			}
		}
		o.Body = o.Body[:min(len(o.Body), max(limit, 0)+1<<20)]
		if limit >= 0 {
			o.Body = o.Body[:min(len(o.Body), limit)] // the last Read may return too much
		}
	}
	o.TrailerAfter = resp.Trailer.Clone()
	o.CloseErr = text(resp.Body.Close())
	if !o.Writable {
		_, err = resp.Body.Read(make([]byte, 1))
		o.AfterCloseErr = text(err)
	}
	return o
}

// raw returns a handler that writes the response to the connection unchanged,
// and then closes the connection.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor > 1 { // an HTTP/2 connection cannot be hijacked
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		rw.WriteString(answer)
		rw.Flush()
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.CloseWrite()
			io.Copy(io.Discard, bufio.NewReader(conn))
		}
	}
}

func TestBodyIsAsWithoutUs(t *testing.T) {
	page := noIndexPage + strings.Repeat("<p>text</p>\n", 5000)
	type header map[string]string
	answer := func(status int, h header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			for k, v := range h {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	accept := func(coding string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Accept-Encoding", coding) }
	}
	type response struct {
		name    string
		handler http.HandlerFunc
		method  string // "" means GET
		limit   int    // how many bytes to read; 0 means all, -1 means none, unlike in observe
		piece   int    // how many bytes to read at once; 0 means 4096
		edit    func(*http.Request)
	}
	responses := []response{
		{name: "HTML", handler: answer(200, nil, page)},
		{name: "a byte at a time", handler: answer(200, nil, noIndexPage), piece: 1},
		{name: "in large pieces", handler: answer(200, nil, page), piece: 1 << 20},
		{name: "with a length", handler: answer(200, header{"Content-Length": fmt.Sprint(len(page))}, page)},
		{name: "empty", handler: answer(200, nil, "")},
		{name: "empty with a length", handler: answer(200, header{"Content-Length": "0"}, "")},
		{name: "no type", handler: raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html")},
		{name: "PDF", handler: answer(200, header{"Content-Type": "application/pdf"}, "%PDF")},
		{name: "plain text", handler: answer(200, header{"Content-Type": "text/plain"}, page)},
		{name: "XHTML", handler: answer(200, header{"Content-Type": "application/xhtml+xml"}, page)},
		{name: "a strange type", handler: answer(200, header{"Content-Type": ";;,=text/html"}, page)},
		{name: "HEAD", method: "HEAD", handler: answer(200, header{"Content-Length": "1234"}, "")},
		{name: "POST", method: "POST", handler: answer(201, nil, page)},
		{name: "204", handler: answer(204, nil, "")},
		{name: "205", handler: answer(205, nil, "")},
		{name: "206", handler: answer(206, header{"Content-Range": "bytes 0-10/100"}, page[:11])},
		{name: "304", handler: answer(304, header{"Etag": `"x"`}, "")},
		{name: "300 without a location", handler: answer(300, nil, page)},
		{name: "404", handler: answer(404, nil, page)},
		{name: "429", handler: answer(429, header{"Retry-After": "5"}, page)},
		{name: "500", handler: answer(500, nil, page)},
		{name: "a redirect", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, "?again", http.StatusFound)
				return
			}
			answer(200, nil, page)(w, r)
		}},
		{name: "closed unread", handler: answer(200, nil, page), limit: -1},
		{name: "closed early", handler: answer(200, nil, page), limit: 100},
		{name: "closed at the length", handler: answer(200, header{"Content-Length": fmt.Sprint(len(page))}, page),
			limit: len(page)},
		{name: "shorter than its length",
			handler: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + noIndexPage)},
		{name: "longer than its length",
			handler: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n" + noIndexPage)},
		{name: "a broken chunk",
			handler: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<html>\r\nxyz\r\n")},
		{name: "a missing last chunk",
			handler: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n<html>\r\n")},
		{name: "until the connection closes",
			handler: raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + noIndexPage)},
		{name: "HTTP/1.0", handler: raw("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + noIndexPage)},
		{name: "no answer", handler: raw("")},
		{name: "no HTTP", handler: raw("<html>hello")},
		{name: "trailers", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "Digest, Server-Timing")
			answer(200, nil, page)(w, r)
			w.Header().Set("Digest", "x=y")
			w.Header().Set("Server-Timing", "z")
		}},
		{name: "trailers, closed early", limit: 10, handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "Digest")
			answer(200, nil, page)(w, r)
			w.Header().Set("Digest", "x=y")
		}},
		{name: "gzip that net/http undoes",
			handler: answer(200, header{"Content-Encoding": "gzip"}, string(encodedPage(t, "gzip", page)))},
		{name: "gzip that it cannot undo", handler: answer(200, header{"Content-Encoding": "gzip"}, page)},
		{name: "gzip cut short that it undoes",
			handler: answer(200, header{"Content-Encoding": "gzip"}, string(encodedPage(t, "gzip", page)[:100]))},
		{name: "gzip that the caller undoes", edit: accept("gzip"),
			handler: answer(200, header{"Content-Encoding": "gzip"}, string(encodedPage(t, "gzip", page)))},
		{name: "gzip cut short that the caller undoes", edit: accept("gzip"),
			handler: answer(200, header{"Content-Encoding": "gzip"}, string(encodedPage(t, "gzip", page)[:100]))},
		{name: "brotli", edit: accept("br"), handler: answer(200, header{"Content-Encoding": "br"}, "\x0b\x02\x80")},
		{name: "101", edit: func(r *http.Request) { r.Header.Set("Connection", "Upgrade"); r.Header.Set("Upgrade", "x") },
			handler: raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")},
		{name: "103, then the page", handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(http.StatusEarlyHints)
			answer(200, nil, page)(w, r)
		}},
	}
	mux := http.NewServeMux()
	for i, r := range responses {
		mux.HandleFunc(fmt.Sprintf("/%d", i), r.handler)
	}
	plain := httptest.NewServer(mux)
	defer plain.Close()
	second := httptest.NewUnstartedServer(mux)
	second.EnableHTTP2 = true
	second.StartTLS()
	defer second.Close()

	for _, test := range []struct {
		name   string
		server *httptest.Server
		base   http.RoundTripper
		opts   PageOptions
	}{
		{"as read", plain, &http.Transport{DisableKeepAlives: true}, PageOptions{}},
		{"as read, HTTP 2", second, second.Client().Transport, PageOptions{}},
		{"read ahead", plain, &http.Transport{DisableKeepAlives: true}, PageOptions{ReadAhead: time.Minute}},
		{"read ahead, HTTP 2", second, second.Client().Transport, PageOptions{ReadAhead: time.Minute}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bare := &http.Client{Transport: test.base}
			wrapped := &http.Client{Transport: newTestTransport(t, test.base, func(o *Options) {
				o.Page = test.opts
				o.Override = map[string]string{test.server.URL: ""}
			})}
			for i, r := range responses {
				t.Run(r.name, func(t *testing.T) {
					limit, piece := r.limit, r.piece
					switch limit {
					case 0:
						limit = -1
					case -1:
						limit = 0
					}
					if piece == 0 {
						piece = 4096
					}
					if r.method == "" {
						r.method = "GET"
					}
					url := fmt.Sprintf("%s/%d", test.server.URL, i)
					want := observe(bare, r.method, url, limit, piece, r.edit)
					got := observe(wrapped, r.method, url, limit, piece, r.edit)
					want.Header.Del("Date")
					got.Header.Del("Date")
					if reflect.DeepEqual(got, want) {
						return
					}
					g, w := reflect.ValueOf(got), reflect.ValueOf(want)
					for i := range g.NumField() {
						if a, b := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(a, b) {
							t.Errorf("%s: %.200q with the Transport, want %.200q, as without it",
								g.Type().Field(i).Name, fmt.Sprint(a), fmt.Sprint(b))
						}
					}
				})
			}
		})
	}
	if n := len(responses); n < 40 {
		t.Errorf("the table has %d responses, want at least 40", n)
	}
}
