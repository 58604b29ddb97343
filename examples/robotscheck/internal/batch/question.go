package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"
)

// A question is one line of a batch. It keeps the JSON string of the robots.txt
// as it is in the line. The cache uses this string as its key, so a robots.txt
// in the cache is not decoded again.
type question struct {
	rawRobots []byte // a JSON string: the robots.txt or, if isPath is set, its path
	isPath    bool
	agent     []byte
	url       []byte
	rawAgent  []byte // the value of "agent", still a JSON string
	rawURL    []byte // the value of "url", still a JSON string
}

// scan() reads a question of the usual form: an object with only the known
// members, and no escapes in "agent" and "url". It is many times faster than
// decodeQuestion. For any other line, scan() returns false, and decodeQuestion
// has to read the line.
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
		return s.char('}') && s.at == len(line) && // nothing may follow
			q.rawRobots != nil && len(q.agent) > 0 && len(q.url) > 0
	}
}

func (q question) robots() ([]byte, error) {
	text, err := q.text()
	if err == nil && q.isPath {
		return os.ReadFile(string(text))
	}
	return text, err
}

// text() decodes rawRobots. If rawRobots is not a JSON string, text() returns
// an error.
func (q question) text() ([]byte, error) {
	var text string
	if err := json.Unmarshal(q.rawRobots, &text); err != nil || q.rawRobots[0] != '"' {
		return nil, errors.New(`"robots" or "file" is no JSON string`)
	}
	return []byte(text), nil
}

// decodeQuestion reads a question of any valid form. For any other line, the
// error says what is wrong.
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
		return q, errors.New("no JSON object of strings") // do not return the error of encoding/json, which names Go types
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

func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // the error is nil, because every string can be encoded
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

type scanner struct {
	line []byte
	at   int    // index of the next byte
	raw  []byte // the latest result of scanner.text()
}

// char() skips spaces and tabs and then the byte c. If c does not follow the
// spaces and tabs, char() skips nothing and returns false.
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

// text() reads a string and returns it with its quotes. It does not check the
// text between the quotes.
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

// plain() reads a string and returns it without its quotes. ok is false if the
// string has escapes or control characters, or is not UTF-8.
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
	return value, utf8.Valid(value) // encoding/json would replace invalid UTF-8 by U+FFFD
}
