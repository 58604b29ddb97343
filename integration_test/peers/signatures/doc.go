// Package signatures lets another implementation of HTTP Message Signatures,
// github.com/yaronf/httpsign, judge what Courtesy signs. It holds nothing but
// tests, in a module of its own, because httpsign brings 14 others along.
package signatures
