package robotstxt

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A pending group is one that is so large that it is compiled only when its Rules are asked for the first time: who
// wants a file's sitemaps, or another robot's rules, need not wait for it.
type pending struct {
	done  atomic.Bool
	mu    sync.Mutex    // guards group, and the Rules until done
	group *pendingGroup // nil when done
}

type pendingGroup struct {
	text   string // the drafts' spans are parts of this
	drafts []draft
	eager  bool
}

// postpone copies what is needed to compile the drafts later, so that the file can go.
func (c *compiler) postpone() *pending {
	size := 0
	for i := range c.drafts {
		d := &c.drafts[i]
		size += d.written.len()
		if d.reform {
			size += d.span.len()
		}
	}
	p := &pendingGroup{drafts: slices.Clone(c.drafts), eager: c.eager}
	var text strings.Builder
	text.Grow(size)
	for i := range p.drafts {
		d := &p.drafts[i]
		pattern := c.pattern(d)
		written := c.file[d.written.from:d.written.to]
		d.written = span{uint32(text.Len()), uint32(text.Len() + len(written))}
		text.WriteString(written)
		if d.span = d.written; d.reform {
			d.span = span{uint32(text.Len()), uint32(text.Len() + len(pattern))}
			text.WriteString(pattern)
		}
	}
	p.text = text.String()
	return &pending{group: p}
}

// ready completes Rules that are still to be compiled. Everything but their agents and delay may be looked at only
// after that.
func (r *Rules) ready() {
	if r.pending != nil && !r.pending.done.Load() {
		r.pending.compile(r)
	}
}

func (p *pending) compile(r *Rules) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done.Load() {
		return
	}
	c := compilers.Get().(*compiler)
	c.reset(p.group.text, r.dialect)
	c.canonical, c.eager = p.group.text, p.group.eager
	c.drafts = append(c.drafts, p.group.drafts...)
	c.compile(r)
	c.release()
	p.group = nil
	p.done.Store(true)
}
