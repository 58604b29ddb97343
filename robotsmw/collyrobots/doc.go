// Package collyrobots makes a colly crawler polite with one line.
package collyrobots
