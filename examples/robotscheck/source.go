package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// defaultUserAgent is who fetches, unless the caller says who they are.
const defaultUserAgent = "robotscheck/1.0 (+https://github.com/goodbots/courtesy)"

func userAgentFlag(flags *flag.FlagSet) *string {
	return flags.String("user-agent", defaultUserAgent, "`header` to fetch a URL with; write your crawler's own where servers tell crawlers apart")
}

// A source is a robots.txt: a file, or what is in force at a URL.
type source struct {
	name string // as the caller calls it, or the robots.txt's URL
	text []byte // empty where there is no file

	// Of a URL: where robots.txt was found in the end, and what the answers mean. decision is nil for a file.
	from     string
	decision *robotsmw.Decision

	parsed map[robotstxt.Dialect]*robotstxt.File
}

// absent returns why there is no file, and whether there is none.
func (s *source) absent() (robotsmw.Reason, bool) {
	if s.decision == nil {
		return 0, false
	}
	switch r := s.decision.Reason; r {
	case robotsmw.Unavailable, robotsmw.Unreachable, robotsmw.Forbidden:
		return r, true
	}
	return 0, false
}

// A fetched is how a robots.txt was had, as JSON has it.
type fetched struct {
	Status  int       `json:"status,omitempty"` // of the last answer; 0: there was none
	From    string    `json:"from,omitempty"`   // where that was, redirects followed
	Time    time.Time `json:"time,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Cause   string    `json:"cause,omitempty"` // why it is unreachable
	NextTry time.Time `json:"next_try,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
}

// fetchedHelp describes it.
const fetchedHelp = `  fetched   of a URL, how its robots.txt was had: status, from (where, redirects followed), time, expires, cause,
            next_try, sha256`

func (s *source) fetched() *fetched {
	if s.decision == nil {
		return nil
	}
	d := s.decision
	return &fetched{d.Status, s.from, d.Fetched.UTC(), d.Expires.UTC(), d.Cause, d.NextTry.UTC(), d.SHA256()}
}

// unknown returns an error where nobody can tell what the rules are.
func (s *source) unknown() error {
	if reason, ok := s.absent(); ok && reason == robotsmw.Unreachable {
		return fmt.Errorf("%s cannot be had, so that everything is disallowed for the time being: %s", s.name, printable(s.decision.Cause))
	}
	return nil
}

// file returns the file as a dialect reads it.
func (s *source) file(dialect robotstxt.Dialect) *robotstxt.File {
	if s.parsed == nil {
		s.parsed = make(map[robotstxt.Dialect]*robotstxt.File)
	}
	if s.parsed[dialect] == nil {
		s.parsed[dialect] = dialect.Parse(s.text)
	}
	return s.parsed[dialect]
}

// withoutFile returns the verdict on every target where there is no file, and whether that is so.
func (s *source) withoutFile() (verdict, bool) {
	reason, none := s.absent()
	return verdict{Allowed: reason == robotsmw.Unavailable, Reason: reason}, none
}

// judge returns the verdict on a target.
func (s *source) judge(dialect robotstxt.Dialect, agent, target string) verdict {
	if v, none := s.withoutFile(); none {
		return v
	}
	return verdictOf(s.file(dialect).Rules(agent).Match(target))
}

// governs returns an error if the robots.txt is not that of a target which names its host.
func (s *source) governs(target string) error {
	if s.decision == nil || !isURL(target) {
		return nil
	}
	u, err := parseURL(target)
	if err != nil {
		return err
	}
	if origin(u) != origin(s.decision.URL) {
		return usagef("%s does not govern %s: that has a robots.txt of its own", s.name, target)
	}
	return nil
}

// readSource reads the robots.txt that an argument stands for.
func readSource(ctx context.Context, e env, arg, userAgent string) (*source, error) {
	if isURL(arg) {
		return fetchSource(ctx, e, arg, userAgent)
	}
	text, err := readFile(e, arg)
	if err != nil {
		return nil, err
	}
	return &source{name: shownName(arg), text: text}, nil
}

// shownName is what a file is called in the output.
func shownName(arg string) string {
	if arg == "-" {
		return "<stdin>"
	}
	return arg
}

// readFile reads a file, or standard input for "-".
func readFile(e env, name string) ([]byte, error) {
	if name == "-" {
		text, err := io.ReadAll(e.stdin)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return text, nil
	}
	return os.ReadFile(name)
}

// openFile is readFile for a file that may be large.
func openFile(e env, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(e.stdin), nil
	}
	return os.Open(name)
}

// fetchSource asks for the robots.txt of a URL's origin.
func fetchSource(ctx context.Context, e env, rawURL, userAgent string) (*source, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	heard := &recorder{base: e.base}
	t, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: userAgent,
		Base:      heard,
		Limiter:   new(politeness.Limiter),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	// Any path but that of robots.txt itself will do, for which no file need be fetched.
	decision, err := t.Checker().Check(ctx, u.ResolveReference(&url.URL{Path: "/"}))
	if err != nil {
		return nil, err
	}
	s := &source{name: decision.RobotsURL, from: heard.url, decision: &decision}
	if _, none := s.absent(); none {
		return s, nil
	}
	s.text = heard.body.Bytes()
	if hash := sha256.Sum256(s.text); hex.EncodeToString(hash[:]) != decision.SHA256() {
		return nil, fmt.Errorf("%s comes in a coding that cannot be shown (Content-Encoding: %s)", s.name, printable(heard.coding))
	}
	return s, nil
}

// recorder keeps what the last response had in its body, as far as it was read: the text that a Checker obeys.
type recorder struct {
	base http.RoundTripper

	mu     sync.Mutex
	url    string
	coding string
	body   bytes.Buffer
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.url, r.coding = req.URL.String(), resp.Header.Get("Content-Encoding")
	r.body.Reset()
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, &r.body), resp.Body}
	return resp, nil
}

// isURL tells a URL from a file's name.
func isURL(s string) bool { return strings.Contains(s, "://") }

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, usageError(err.Error())
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, usagef("%q: write a URL with http or https and a host", s)
	}
	return u, nil
}

// origin is what robots.txt is valid for: scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// agentsFlag declares -agent, which may be repeated.
func agentsFlag(flags *flag.FlagSet, usage string) *agents {
	var list agents
	flags.Var(&list, "agent", usage)
	return &list
}

// agents are product tokens, or "*".
type agents []string

func (a *agents) String() string { return strings.Join(*a, ", ") }

func (a *agents) Set(s string) error {
	if err := checkAgent(s); err != nil {
		return err
	}
	*a = append(*a, s)
	return nil
}

// checkAgent returns an error if a robot cannot be called so.
func checkAgent(s string) error {
	if s == "*" {
		return nil
	}
	switch name := agentOf(s); {
	case s == "":
		return errors.New("an empty name: write the robot's product token, such as ExampleBot, or \"*\"")
	case name == "", name == "Mozilla":
		return fmt.Errorf("%q is no product token: write letters, digits, \"_\", \"-\" and \".\" only, such as ExampleBot, or \"*\"", s)
	case name != s:
		return fmt.Errorf("%q is no product token: write %s alone, without version or address", s, name)
	}
	return nil
}

// agentOf returns the name that the value of a user-agent line, or a User-Agent header, begins with.
func agentOf(s string) string {
	if s == "*" || strings.HasPrefix(s, "* ") || strings.HasPrefix(s, "*\t") {
		return "*"
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.')
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}
