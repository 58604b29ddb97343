// Package retries shows how to combine Courtesy with go-retryablehttp. It
// contains only examples and tests. The order, from the outside in, is
//
//	robots → cache → retries → politeness → http.Transport
//
// Therefore a disallowed URL causes no retry and occupies no slot of its host.
// A page from the cache occupies no slot either. Each retry waits until its
// host is due.
package retries
