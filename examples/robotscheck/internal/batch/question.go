package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"
)

// A question is a line of a batch. The robots.txt stays as JSON has it: as long
// as the same text comes again, nobody needs it otherwise.
type question struct {
	rawRobots []byte // the JSON string of the text, or of the path; empty: none
	isPath    bool
	agent     []byte
	url       []byte
	rawAgent  []byte // the JSON string
	rawURL    []byte
}

// scan reads a question of the usual form: an object of nothing but the known
// members, whose agent and url are plain. It reports false for all else, valid
// or not, which is decodeQuestion's. It is many times faster.
func (q *question) scan(line []byte) bool {
	s := scanner{line: line}
	if !s.char('{') {
		return false
	}
	for {
		key, ok := s.plain()
		if !ok || !s.char(':') {
			return false
		}
		switch string(key) {
		case "robots", "file":
			if q.rawRobots != nil {
				return false
			}
			q.isPath = key[0] == 'f'
			q.rawRobots, ok = s.text()
		case "agent":
			q.agent, ok = s.plain()
			q.rawAgent = s.raw
		case "url":
			q.url, ok = s.plain()
			q.rawURL = s.raw
		default:
			return false
		}
		if !ok {
			return false
		}
		if s.char(',') {
			continue
		}
		return s.char('}') && s.at == len(line) && // which has no white space at its end
			q.rawRobots != nil && len(q.agent) > 0 && len(q.url) > 0
	}
}

// robots returns the bytes of the robots.txt.
func (q question) robots() ([]byte, error) {
	text, err := q.text()
	if err == nil && q.isPath {
		return os.ReadFile(text)
	}
	return []byte(text), err
}

// text returns the string that rawRobots is.
func (q question) text() (s string, err error) {
	if err := json.Unmarshal(q.rawRobots, &s); err != nil || q.rawRobots[0] != '"' {
		return "", errors.New(`"robots" or "file" is no JSON string`)
	}
	return s, nil
}

// decodeQuestion reads a question of any form, or says what is wrong with it.
func decodeQuestion(line []byte) (q question, err error) {
	var v struct {
		Robots, File json.RawMessage
		Agent, URL   *string
	}
	if err := json.Unmarshal(line, &v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return q, fmt.Errorf("no JSON object of strings: %w", err)
		}
		return q, errors.New("no JSON object of strings") // the error tells of types of ours
	}
	switch {
	case v.Robots == nil && v.File == nil:
		return q, errors.New(`"robots" is missing, the text of a robots.txt, or "file", its path`)
	case v.Robots != nil && v.File != nil:
		return q, errors.New(`"robots" and "file" are both there: write one of them`)
	case v.Agent == nil || *v.Agent == "":
		return q, errors.New(`"agent" is missing, the robot's product token`)
	case v.URL == nil || *v.URL == "":
		return q, errors.New(`"url" is missing`)
	}
	q.rawRobots, q.isPath = v.Robots, v.File != nil
	if q.isPath {
		q.rawRobots = v.File
	}
	q.agent, q.url = []byte(*v.Agent), []byte(*v.URL)
	q.rawAgent, q.rawURL = appendString(nil, *v.Agent), appendString(nil, *v.URL)
	return q, nil
}

// appendString appends a JSON string.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always has a form
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

// A scanner reads JSON from the front.
type scanner struct {
	line []byte
	at   int    // what comes next
	raw  []byte // what text returned last
}

// byte takes a byte, and white space before it, if that is what comes next.
func (s *scanner) char(c byte) bool {
	i := s.at
	for i < len(s.line) && (s.line[i] == ' ' || s.line[i] == '\t') {
		i++
	}
	if i == len(s.line) || s.line[i] != c {
		return false
	}
	s.at = i + 1
	return true
}

// text takes a string and returns it with its quotes. That it has no bad
// escapes is not looked at.
func (s *scanner) text() (raw []byte, ok bool) {
	if !s.char('"') {
		return nil, false
	}
	start := s.at
	for from := start; ; {
		n := bytes.IndexByte(s.line[from:], '"')
		if n < 0 {
			return nil, false
		}
		end := from + n
		escapes := 0
		for end-1-escapes >= start && s.line[end-1-escapes] == '\\' {
			escapes++
		}
		if from = end + 1; escapes%2 == 0 {
			s.raw, s.at = s.line[start-1:end+1], end+1
			return s.raw, true
		}
	}
}

// plain takes a string that has no escapes, and is UTF-8, and returns it
// without its quotes.
func (s *scanner) plain() (value []byte, ok bool) {
	raw, ok := s.text()
	if !ok {
		return nil, false
	}
	value = raw[1 : len(raw)-1]
	for _, c := range value {
		if c < ' ' || c == '\\' {
			return nil, false
		}
	}
	return value, utf8.Valid(value) // encoding/json reads U+FFFD for what is not
}
