"""Scrapy obeys robots.txt, and keeps the pace, by a politegate. In settings.py:

    ROBOTSTXT_OBEY = True
    ROBOTSTXT_PARSER = "courtesy_scrapy.GateParser"
    DOWNLOADER_MIDDLEWARES = {"courtesy_scrapy.GateMiddleware": 950}
    COURTESY_GATE = "http://127.0.0.1:8500"  # and COURTESY_TOKEN, if it has one
    USER_AGENT = "..."                       # that of the gate

The parser gives the verdicts. The middleware asks for the turn of each request,
so it needs no DOWNLOAD_DELAY, and keeps Scrapy from fetching robots.txt itself.
"""

from scrapy.exceptions import IgnoreRequest
from scrapy.http import TextResponse
from scrapy.robotstxt import RobotParser
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from courtesy import Gate, Refused


def gate_of(crawler):
    return Gate(crawler.settings.get("COURTESY_GATE", "http://127.0.0.1:8500"), crawler.settings.get("COURTESY_TOKEN"))


class GateParser(RobotParser):
    def __init__(self, gate):
        self.gate = gate

    @classmethod
    def from_crawler(cls, crawler, robotstxt_body):
        return cls(gate_of(crawler))

    def allowed(self, url, user_agent):
        return self.gate.check(url)["allowed"]


class GateMiddleware:
    def __init__(self, gate):
        self.gate = gate

    @classmethod
    def from_crawler(cls, crawler):
        return cls(gate_of(crawler))

    async def process_request(self, request, spider):
        if request.url.endswith("/robots.txt") and request.meta.get("dont_obey_robotstxt"):
            return TextResponse(request.url)  # RobotsTxtMiddleware asks; the gate has read it
        try:
            slot = await maybe_deferred_to_future(deferToThread(self.gate.begin, request.url))
        except Refused as refused:
            raise IgnoreRequest(f"politegate: {refused}") from refused
        request.meta["courtesy_slot"] = slot

    async def process_response(self, request, response, spider):
        after = response.headers.get("Retry-After", b"").decode("latin-1")
        await self._done(request, response.status, after)
        return response

    async def process_exception(self, request, exception, spider):
        await self._done(request)

    async def _done(self, request, *said):
        if slot := request.meta.pop("courtesy_slot", None):
            await maybe_deferred_to_future(deferToThread(self.gate.done, slot, *said))
