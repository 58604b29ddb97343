// Package headers reads the fields of a response that affect delays:
// Retry-After, and those of quotas. It does no
// locking, and does not depend on the Limiter.
package headers
