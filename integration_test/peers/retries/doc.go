// Package retries shows how Courtesy goes together with go-retryablehttp. It
// holds nothing but examples and tests. From the outside in:
//
//	robots → cache → retries → politeness → http.Transport
//
// A blocked URL then costs neither a retry nor a slot, a page from the cache
// costs no slot, and every retry waits its turn.
package retries
