// Package retries shows how to combine Courtesy with go-retryablehttp. It
// contains only examples and tests. The order, from the outside in, is
//
//	robots → cache → retries → politeness → http.Transport
//
// So a blocked URL causes no retry and takes no slot, a page from the cache
// takes no slot, and every retry waits for its turn.
package retries
