package robotstest

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// A Site maps paths to pages. The Content-Type is text/html if a page begins
// with "<", and text/plain otherwise. The status of other paths is 404. Queries
// are ignored.
type Site map[string]string

func (s Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, ok := s[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	contentType := "text/plain; charset=utf-8"
	if strings.HasPrefix(page, "<") {
		contentType = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	io.WriteString(w, page)
}

// A Status is a handler that responds with a status and no body.
type Status int

func (s Status) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(s)) }

// A Reset is a handler that sends its text with status 200, and then resets the
// connection. If the text is empty, no header is sent either.
type Reset string

func (text Reset) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if text != "" {
		io.WriteString(w, string(text))
		http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// A Raw is a handler that writes its text, including the header, to the
// connection and closes it. It can send invalid responses, such as a malformed
// status line, an incomplete header, a malformed chunk, or a body that is
// shorter than its Content-Length.
type Raw string

func (r Raw) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // all connections of an Internet support hijacking
	}
	defer conn.Close()
	io.WriteString(conn, string(r))
}

// Hang is a handler that does not respond until the request is canceled.
type Hang struct{}

func (Hang) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Trickle is a handler that sends Chunk repeatedly, at most Times times or
// until the request is canceled. If Times is 0, there is no limit. Trickle can
// simulate a tarpit or an endless body.
type Trickle struct {
	Chunk string
	Every time.Duration // pause between chunks
	Times int           // number of chunks; no limit if zero or negative
}

func (t Trickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	controller := http.NewResponseController(w)
	for n := 0; t.Times <= 0 || n < t.Times; n++ {
		if n > 0 && !sleep(r, t.Every) {
			return
		}
		if _, err := io.WriteString(w, t.Chunk); err != nil {
			return // the client has disconnected
		}
		controller.Flush()
	}
}

// sleep pauses for d. It returns false if the request is canceled.
func sleep(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
