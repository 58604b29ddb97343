"""A spider that obeys robots.txt and the rate limits of a politegate."""

import os

import scrapy


class Spider(scrapy.Spider):
    name = "spider"
    start_urls = [os.environ["SITE"] + "/scrapy/"]
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "ROBOTSTXT_PARSER": "courtesy_scrapy.GateParser",
        "DOWNLOADER_MIDDLEWARES": {"courtesy_scrapy.GateMiddleware": 950},
        "COURTESY_GATE": os.environ["GATE"],
        "USER_AGENT": os.environ["AGENT"],
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response):
        yield from response.follow_all(css="a")
