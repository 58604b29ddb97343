package robotstest

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Site serves fixed pages by path. A page that begins with "<" has the type
// text/html. Any other page has the type text/plain. For a path without a page,
// the status is 404. The query is ignored.
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

// Status answers every request with a status and no body.
type Status int

func (s Status) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(s)) }

// Reset sends its text with status 200 and then resets the connection.
// Reset("") sends nothing, not even a header.
type Reset string

func (before Reset) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if before != "" {
		io.WriteString(w, string(before))
		http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// Raw writes its text to the connection and closes the connection. The text
// includes the header. So Raw can send what no well-behaved server sends: a bad
// status line, half a header, a bad chunk, a body shorter than its
// Content-Length.
type Raw string

func (r Raw) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // every connection of an Internet can be hijacked
	}
	defer conn.Close()
	io.WriteString(conn, string(r))
}

// Hang sends nothing until the client gives up.
type Hang struct{}

func (Hang) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Trickle sends Chunk again and again. The field Every is the pause between two
// chunks. Trickle ends when the client gives up or, if Times is positive, after
// that many chunks. So it can act as a tarpit or, if Every is 0, send an
// endless body at full speed.
type Trickle struct {
	Chunk string
	Every time.Duration
	Times int // 0 or negative means forever
}

func (t Trickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	for n := 0; t.Times <= 0 || n < t.Times; n++ {
		if n > 0 && !pause(r, t.Every) {
			return
		}
		if _, err := io.WriteString(w, t.Chunk); err != nil {
			return // the client has left
		}
		flush.Flush()
	}
}

func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
