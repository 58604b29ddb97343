// Package crawldelay is how a request's context tells the Limiter that it meets
// the Crawl-delay of its origin. Package politeness has the functions; the key is
// here so that another context can hold the value besides its own.
package crawldelay

// Key is where a context has it, as a *time.Duration: positive, 0 if robots.txt
// has none, or politeness.Exempt.
type Key struct{}
