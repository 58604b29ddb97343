package batch

import (
	"fmt"
	"sync"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A rulesCache keeps robots.txt files and the rules made from them, in bounded
// memory. It has two generations. When the young generation exceeds half of the
// limit, it replaces the old one, and a new young generation begins. When a
// question needs a file of the old generation, the file is added to the young
// one. A rulesCache is safe for concurrent use.
type rulesCache struct {
	half int64 // half of the limit, in bytes

	mu       sync.RWMutex
	young    map[robotsKey]*cachedRobots
	old      map[robotsKey]*cachedRobots
	youngFor int64 // how many bytes the young generation uses
}

// A robotsKey identifies the robots.txt of a question.
type robotsKey struct {
	raw    string // the robots.txt or its path, as JSON
	isPath bool
}

type cachedRobots struct {
	file  *robotstxt.File
	doubt string                      // why the file is doubtful; see package doubt
	rules map[string]*robotstxt.Rules // the rules, by product token
	size  int64
}

// perEntry is roughly how many bytes a map uses for an entry, besides the
// entry's key and value.
const perEntry = 200

func newRulesCache(size int64) *rulesCache {
	return &rulesCache{half: size / 2, young: make(map[robotsKey]*cachedRobots)}
}

// rules() returns the rules for a question. If they are not in the young
// generation, rules() makes them. doubtful says why the robots.txt is doubtful,
// or is "" if there is no doubt. See package doubt.
func (c *rulesCache) rules(q *question) (_ *robotstxt.Rules, doubtful string, err error) {
	c.mu.RLock()
	entry, young := c.young[robotsKey{string(q.rawRobots), q.isPath}], true
	if entry == nil {
		entry, young = c.old[robotsKey{string(q.rawRobots), q.isPath}], false
	}
	var rules *robotstxt.Rules
	if entry != nil {
		rules, doubtful = entry.rules[string(q.agent)], entry.doubt
	}
	c.mu.RUnlock()
	if rules != nil && young {
		return rules, doubtful, nil
	}
	agent := string(q.agent)
	if err := robots.CheckName(agent); err != nil {
		return nil, "", fmt.Errorf(`"agent": %w`, err)
	}
	if entry == nil {
		text, err := q.robots()
		if err != nil {
			return nil, "", err
		}
		entry = &cachedRobots{
			file:  robotstxt.Parse(text),
			doubt: robots.Doubt(text),
			rules: make(map[string]*robotstxt.Rules),
			size:  int64(len(q.rawRobots)) + 3*int64(len(text)) + perEntry, // an estimate of the bytes that the file uses
		}
	}
	if rules == nil {
		rules = entry.file.Rules(agent)
	}
	c.keep(robotsKey{string(q.rawRobots), q.isPath}, entry, agent, rules)
	return rules, entry.doubt, nil
}

// keep stores an agent's rules in the young generation. It also stores the
// file, unless the young generation has the file already.
func (c *rulesCache) keep(key robotsKey, entry *cachedRobots, agent string, rules *robotstxt.Rules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.young[key]; other != nil { // the file is already there; another goroutine may have stored it
		entry = other
	} else {
		c.young[key] = entry
		c.youngFor += entry.size
	}
	if entry.rules[agent] == nil {
		entry.rules[agent] = rules
		size := int64(rules.Size()) + int64(len(agent)) + perEntry
		entry.size += size
		c.youngFor += size
	}
	if c.youngFor > c.half {
		c.young, c.old, c.youngFor = make(map[robotsKey]*cachedRobots), c.young, 0
	}
}
