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

// A question is one line of a batch. It contains the robots.txt in encoded
// form, which is its key in the cache, so that each robots.txt is decoded only
// once.
type question struct {
	robots []byte // the text between the quotes of a JSON string
	isPath bool   // whether robots is the path of the file, instead of its text
	agent  string
	url    string
}

// text returns the decoded robots.txt.
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

// decode parses a question in any valid form. For any other line, the error
// describes the problem.
func (q *question) decode(line []byte) error {
	var v struct {
		Robots, File json.RawMessage
		Agent, URL   string
	}
	if err := json.Unmarshal(line, &v); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("not a JSON object of strings: %w", syntax)
		}
		return errors.New("not a JSON object of strings") // other errors contain Go types
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
	*q = question{
		robots: text[1 : len(text)-1],
		isPath: v.File != nil,
		agent:  v.Agent,
		url:    v.URL,
	}
	return nil
}

// scan parses a question in the usual form: an object with only the known
// members, and no escapes in "agent" and "url". For a line in another form,
// scan returns false, and decode must parse it. The line must be valid UTF-8.
// Without scan, a batch takes more than twice as long.
func (q *question) scan(line []byte) bool {
	s := scanner{line}
	separator := byte('{')
	for s.skip(separator) {
		key := s.text()
		if !s.skip(':') {
			return false
		}
		if !q.set(string(key), s.text()) {
			return false
		}
		separator = ','
	}
	isAtEnd := s.skip('}') && len(s.rest) == 0
	return isAtEnd && q.isComplete()
}

// set sets a member. It returns false if the key is unknown, or if there are
// two robots.txt.
func (q *question) set(key string, value []byte) bool {
	switch key {
	case "robots", "file":
		if q.robots != nil {
			return false
		}
		q.robots = value
		q.isPath = key == "file"
	case "agent":
		q.agent = unescaped(value)
	case "url":
		q.url = unescaped(value)
	default:
		return false
	}
	return true
}

func (q *question) isComplete() bool { return q.robots != nil && q.agent != "" && q.url != "" }

type scanner struct{ rest []byte }

// skip skips spaces and tabs, and then the byte c. If there is another byte, it
// skips nothing and returns false.
func (s *scanner) skip(c byte) bool {
	rest := bytes.TrimLeft(s.rest, " \t")
	if len(rest) == 0 || rest[0] != c {
		return false
	}
	s.rest = rest[1:]
	return true
}

// text returns the text between the quotes of a string, with its escapes, or
// nil if there is no string.
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

// unescaped returns text if it contains neither an escape nor a character that
// JSON does not allow. Otherwise, unescaped returns "".
func unescaped(text []byte) string {
	isSpecial := func(c byte) bool { return c < ' ' || c == '\\' }
	if slices.ContainsFunc(text, isSpecial) {
		return ""
	}
	return string(text)
}

// A rulesCache caches the rules of robots.txt files, in bounded memory: when it
// is full, it removes all entries. It is safe for concurrent use.
type rulesCache struct {
	maxSize int // in bytes

	mu      sync.RWMutex
	entries map[rulesKey]cachedRules
	size    int // of the entries, in bytes
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

// entryOverhead is the approximate size of an entry of the map in bytes,
// without the key's strings and the rules.
const entryOverhead = 200

func newRulesCache(maxSize int) *rulesCache {
	return &rulesCache{maxSize: maxSize, entries: make(map[rulesKey]cachedRules)}
}

// rulesFor returns the rules for q, parsing them on first use.
func (c *rulesCache) rulesFor(q *question) (cachedRules, error) {
	c.mu.RLock()
	// The conversion does not allocate, because it is in the index expression.
	rules, ok := c.entries[rulesKey{string(q.robots), q.isPath, q.agent}]
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
	c.add(key, rules)
	return rules, nil
}

func (c *rulesCache) add(key rulesKey, rules cachedRules) {
	size := len(key.robots) + len(key.agent) + len(rules.doubt) + rules.Size() + entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+size > c.maxSize {
		clear(c.entries)
		c.size = 0
	}
	c.entries[key] = rules
	c.size += size
}
