package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A question is one line of a batch. The cache uses the robots.txt as it is in
// the line as its key, so a robots.txt in the cache is not decoded again.
type question struct {
	robots []byte // a robots.txt, as it is between the quotes of a JSON string
	isPath bool   // whether robots is the path of the file instead
	agent  string
	url    string
}

// text returns the robots.txt.
func (q *question) text() ([]byte, error) {
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, q.robots, []byte{'"'}), &text); err != nil {
		return nil, errNoString
	}
	if q.isPath {
		return os.ReadFile(text)
	}
	return []byte(text), nil
}

var errNoString = errors.New(`"robots" or "file" is not a JSON string`)

// decode reads a question of any valid form. For any other line, the error
// describes what is wrong.
func (q *question) decode(line []byte) error {
	var v struct {
		Robots, File json.RawMessage
		Agent, URL   string
	}
	if err := json.Unmarshal(line, &v); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("not a JSON object of strings: %w", syntax)
		}
		return errors.New("not a JSON object of strings") // do not return the error of encoding/json, which names Go types
	}
	text := v.Robots
	if v.File != nil {
		text = v.File
	}
	switch {
	case text == nil:
		return errors.New(`missing "robots", the text of a robots.txt, or "file", its path`)
	case v.Robots != nil && v.File != nil:
		return errors.New(`"robots" and "file" are both present; use only one`)
	case text[0] != '"':
		return errNoString
	case v.Agent == "":
		return errors.New(`missing "agent", the product token of the robot`)
	case v.URL == "":
		return errors.New(`missing "url"`)
	}
	*q = question{text[1 : len(text)-1], v.File != nil, v.Agent, v.URL}
	return nil
}

// scan reads a question of the usual form: an object with only the known
// members, and no escapes in "agent" and "url". A batch takes more than twice
// as long if decode reads each line. For a line of another form, scan returns
// false, and decode must read it. The line must be UTF-8.
func (q *question) scan(line []byte) bool {
	s := scanner{line}
	for before := byte('{'); s.skip(before); before = ',' {
		key := s.text()
		if !s.skip(':') {
			return false
		}
		value := s.text()
		switch string(key) {
		case "robots", "file":
			if q.robots != nil {
				return false
			}
			q.robots = value
			q.isPath = string(key) == "file"
		case "agent":
			q.agent = plain(value)
		case "url":
			q.url = plain(value)
		default:
			return false
		}
	}
	isAtEnd := s.skip('}') && len(s.rest) == 0
	return isAtEnd && q.robots != nil && q.agent != "" && q.url != ""
}

type scanner struct{ rest []byte }

// skip skips spaces and tabs and then the byte c. It returns false if there is
// another byte.
func (s *scanner) skip(c byte) bool {
	rest := bytes.TrimLeft(s.rest, " \t")
	if len(rest) == 0 || rest[0] != c {
		return false
	}
	s.rest = rest[1:]
	return true
}

// text reads a string and returns what is between its quotes, with its escapes.
// It returns nil if there is no string.
func (s *scanner) text() []byte {
	if !s.skip('"') {
		return nil
	}
	for end := 0; ; end++ {
		n := bytes.IndexByte(s.rest[end:], '"')
		if n < 0 {
			return nil
		}
		end += n
		text := s.rest[:end]
		if escapes := len(text) - len(bytes.TrimRight(text, `\`)); escapes%2 == 0 {
			s.rest = s.rest[end+1:]
			return text
		}
	}
}

// plain returns a text that has no escapes. If it has some, or a character that
// JSON does not allow, plain returns "".
func plain(text []byte) string {
	if slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c == '\\' }) {
		return ""
	}
	return string(text)
}

// A rulesCache keeps the rules of robots.txt files, in bounded memory: when it
// is full, it drops all. It is safe for concurrent use.
type rulesCache struct {
	limit int // in bytes

	mu   sync.RWMutex
	kept map[rulesKey]cachedRules
	size int // how many bytes kept uses
}

type rulesKey struct {
	robots string // the robots.txt or its path, as in JSON
	isPath bool
	agent  string
}

type cachedRules struct {
	*robotstxt.Rules
	doubt string // why the robots.txt is doubtful, or "" if it is not
}

// perEntry is roughly how many bytes a map uses for an entry, besides the
// entry's key and rules.
const perEntry = 200

func newRulesCache(limit int) *rulesCache {
	return &rulesCache{limit: limit, kept: make(map[rulesKey]cachedRules)}
}

// rulesFor returns the rules for q, parsing them on first use.
func (c *rulesCache) rulesFor(q *question) (cachedRules, error) {
	c.mu.RLock()
	rules, ok := c.kept[rulesKey{string(q.robots), q.isPath, q.agent}]
	c.mu.RUnlock()
	if ok {
		return rules, nil
	}
	if err := robots.CheckName(q.agent); err != nil {
		return cachedRules{}, fmt.Errorf(`"agent": %w`, err)
	}
	text, err := q.text()
	if err != nil {
		return cachedRules{}, err
	}
	rules = cachedRules{robotstxt.Parse(text).Rules(q.agent), robots.Doubt(text, false)}
	key := rulesKey{string(q.robots), q.isPath, q.agent}
	size := len(key.robots) + len(key.agent) + len(rules.doubt) + rules.Size() + perEntry
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.size > c.limit {
		clear(c.kept)
		c.size = size
	}
	c.kept[key] = rules
	return rules, nil
}
