// Package retries shows how to combine Courtesy with go-retryablehttp. It
// contains only examples and tests. The order, from the outside in, is
//
//	robots → cache → retries → politeness → http.Transport
//
// So a blocked URL causes no retry and takes no slot. A page from the cache
// takes no slot either. Every retry waits for its turn.
package retries
