// Package headers reads the fields of a response that affect delays:
// Retry-After, and those of quotas. It needs no lock and knows no Limiter.
package headers
