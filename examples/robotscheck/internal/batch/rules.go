package batch

import (
	"fmt"
	"sync"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

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

// rulesFor returns the rules for a question, and makes them if it has to.
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
