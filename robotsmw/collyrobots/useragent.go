package collyrobots

import (
	"sync"

	"github.com/gocolly/colly/v2"
)

// collyAgent returns colly's default User-Agent.
var collyAgent = sync.OnceValue(func() string {
	var c colly.Collector
	c.Init()
	return c.UserAgent
})
