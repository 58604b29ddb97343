// Fleet is politespider for several processes, on one machine or many. Together
// they crawl like a single process. Each is started by the same command:
//
//	fleet -redis redis://127.0.0.1:6379 [flags] URL...
//
// Redis or Valkey keeps the queue of the crawl and the robots.txt files. Each
// host belongs to one process at a time, and only that process sends requests
// to it (package redislimit). If a process dies, the others take over its pages
// and its hosts. Flags, output and exit status are those of politespider,
// except that there is no -resume.
package main

import (
	"github.com/goodbots/courtesy/examples/politespider/internal/spider"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

func main() { tool.Command{Crawl: spider.Crawl, Shared: new(redisCrawl)}.Main() }
