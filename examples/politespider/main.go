package main

import (
	"github.com/goodbots/courtesy/examples/politespider/internal/spider"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

// The crawl is the function Crawl in internal/spider/spider.go. The command
// around it, with its flags and its output, is in internal/tool.
func main() { tool.Command{Crawl: spider.Crawl}.Main() }
