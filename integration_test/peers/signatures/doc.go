// Package signatures checks Courtesy's signatures with another implementation
// of HTTP Message Signatures, github.com/yaronf/httpsign. It contains only
// tests. It is a module of its own because httpsign requires 14 other modules.
package signatures
