// Package match finds the rule of a group that decides about a target, which is
// the most specific rule that matches (RFC 9309 §2.2.2).
//
// Patterns and targets are compared in a normalized form, in which each byte
// has only one spelling; see encoding.go. The rules of a group are tried one by
// one. Matching is fast because the first bytes of a target exclude most rules,
// and it does not allocate, except for pooled buffers if a target is long.
//
// The documentation of package robotstxt describes targets and patterns.
package match
