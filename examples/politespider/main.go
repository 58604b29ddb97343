package main

import (
	"github.com/goodbots/courtesy/examples/politespider/internal/spider"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

func main() { tool.Command{Crawl: spider.Crawl}.Main() }
