package demosite

import (
	"embed"
	"fmt"
	"net/http"
	"net/textproto"
	"path"
	"strconv"
	"strings"
	"sync"
)

// files holds a file for each host, named after it. A file is a remark, then the answers of that host:
//
//	-- TARGET STATUS --
//	Header: value
//
//	body
//
// The target is what a request asks for, query included. Where it is given more than once, the answers follow each
// other, and the last one stays.
//
//go:embed hosts/*.txt
var files embed.FS

// answer is one response of a host.
type answer struct {
	status int
	header http.Header
	body   string
}

// host answers for one host name.
type host struct {
	mu      sync.Mutex
	answers map[string][]answer // by target; not empty
}

// readHosts reads the embedded files. What it reports is a mistake in one of them.
func readHosts() (map[string]*host, error) {
	hosts := make(map[string]*host)
	entries, err := files.ReadDir("hosts")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("hosts", entry.Name()))
		if err != nil {
			return nil, err
		}
		h, err := parseHost(string(text))
		if err != nil {
			return nil, fmt.Errorf("demosite: %s: %w", entry.Name(), err)
		}
		hosts[strings.TrimSuffix(entry.Name(), ".txt")] = h
	}
	return hosts, nil
}

func parseHost(text string) (*host, error) {
	h := &host{answers: make(map[string][]answer)}
	sections := strings.Split("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n-- ")
	for _, section := range sections[1:] { // the first is the remark
		title, rest, _ := strings.Cut(section, " --\n")
		target, code, _ := strings.Cut(title, " ")
		status, err := strconv.Atoi(code)
		if err != nil || !strings.HasPrefix(target, "/") {
			return nil, fmt.Errorf("section %q: want -- /target STATUS --", title)
		}
		head, body, _ := strings.Cut(rest, "\n\n")
		a := answer{status: status, header: make(http.Header), body: strings.TrimSuffix(body, "\n")}
		for line := range strings.Lines(head) {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, fmt.Errorf("section %q: %q is not a header", title, line)
			}
			a.header.Add(textproto.TrimString(name), textproto.TrimString(value))
		}
		h.answers[target] = append(h.answers[target], a)
	}
	return h, nil
}

// ServeHTTP gives the next answer for the request's target, or 404.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := h.next(r.URL.RequestURI())
	if !ok {
		http.NotFound(w, r)
		return
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	fmt.Fprint(w, a.body) // a HEAD's is dropped by net/http
}

func (h *host) next(target string) (answer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answers := h.answers[target]
	if len(answers) == 0 {
		return answer{}, false
	}
	if len(answers) > 1 {
		h.answers[target] = answers[1:]
	}
	return answers[0], true
}
