"""Scrapy with the robots.txt and the rate limits of a politegate. In settings.py:

    ROBOTSTXT_OBEY = True
    ROBOTSTXT_PARSER = "courtesy_scrapy.GateParser"
    DOWNLOADER_MIDDLEWARES = {"courtesy_scrapy.GateMiddleware": 950}
    COURTESY_GATE = "http://127.0.0.1:8500"  # and COURTESY_TOKEN, if it has one
    USER_AGENT = "..."                       # that of the gate

The parser gets the verdicts from the gate. The middleware waits for a slot of
each request, so DOWNLOAD_DELAY is not needed, and prevents Scrapy from fetching
robots.txt itself.
"""

from scrapy.exceptions import IgnoreRequest
from scrapy.http import TextResponse
from scrapy.robotstxt import RobotParser
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from courtesy import Gate, Refused


def new_gate(crawler):
    base = crawler.settings.get("COURTESY_GATE", "http://127.0.0.1:8500")
    return Gate(base, crawler.settings.get("COURTESY_TOKEN"))


class GateParser(RobotParser):
    def __init__(self, gate):
        self.gate = gate

    @classmethod
    def from_crawler(cls, crawler, robotstxt_body):
        return cls(new_gate(crawler))

    def allowed(self, url, user_agent):
        return self.gate.check(url)["allowed"]


class GateMiddleware:
    def __init__(self, gate):
        self.gate = gate

    @classmethod
    def from_crawler(cls, crawler):
        return cls(new_gate(crawler))

    async def process_request(self, request, spider):
        if request.url.endswith("/robots.txt") and request.meta.get("dont_obey_robotstxt"):
            return TextResponse(request.url)  # for RobotsTxtMiddleware; the gate has the file
        try:
            slot = await maybe_deferred_to_future(deferToThread(self.gate.begin, request.url))
        except Refused as refused:
            raise IgnoreRequest(f"politegate: {refused}") from refused
        request.meta["courtesy_slot"] = slot

    async def process_response(self, request, response, spider):
        retry_after = response.headers.get("Retry-After", b"").decode("latin-1")
        await self._done(request, response.status, retry_after)
        return response

    async def process_exception(self, request, exception, spider):
        await self._done(request)

    async def _done(self, request, *outcome):
        if slot := request.meta.pop("courtesy_slot", None):
            await maybe_deferred_to_future(deferToThread(self.gate.done, slot, *outcome))
