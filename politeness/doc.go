// Package politeness paces requests so that no host is asked faster than it can
// bear: one [Limiter] for a whole crawl, and a [Transport] that puts it under
// any http.Client.
package politeness
