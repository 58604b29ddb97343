// Package robotstxt reads robots.txt files by RFC 9309 and answers what a robot may fetch.
package robotstxt
