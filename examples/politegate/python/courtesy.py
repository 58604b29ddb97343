"""Fetch pages politely through a politegate. This module needs only Python's standard library.

Start a gate: politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"

    from courtesy import Gate
    gate = Gate()  # http://127.0.0.1:8500
    with gate.fetch("https://example.com/") as page:
        print(page.status, page.read())

If a page may not be fetched, fetch raises Refused. It does not follow redirects: fetch the URL
in the header Location. To check a URL, or to send a request yourself:

    gate.check("https://example.com/")["allowed"]
    with gate.turn("https://example.com/") as turn:
        turn.status = requests.get("https://example.com/", allow_redirects=False).status_code
"""

import contextlib
import json
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    """The page may not be fetched now. verdict is the response of the gate, a dict."""

    def __init__(self, verdict):
        self.verdict = verdict
        members = [str(verdict[key]) for key in ("reason", "rule", "error") if key in verdict]
        super().__init__(" ".join(members))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The gate must check each hop, so the caller has to fetch it."""

    def redirect_request(self, *_):
        return None


class Gate:
    """A politegate. base is its URL, and token the one in its -token-file, if it has one."""

    def __init__(self, base="http://127.0.0.1:8500", token=None, timeout=330):
        self.base = base
        self.timeout = timeout  # in seconds; the gate may wait five minutes for a host
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)

    def _request(self, path, method="GET", **query):
        url = f"{self.base}{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers=self.headers, method=method)
        try:
            return self.opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as response:
            if response.headers.get("Courtesy-Verdict"):
                raise Refused(json.load(response)) from None
            is_from_site = response.headers.get("Courtesy-Decision") is not None
            if not is_from_site:  # the token is wrong, or base is not a gate
                raise
            return response

    def check(self, url, **query):
        """Return the gate's verdict on url, a dict."""
        with self._request("/check", url=url, **query) as response:
            return json.load(response)

    def fetch(self, url):
        """Return the site's response, whatever its status, or raise Refused."""
        page = self._request("/fetch", url=url)
        page.url = url  # links are relative to it, not to the URL of the gate
        return page

    def begin(self, url):
        """Wait until a request for url may be sent. Return the id of its slot, for done()."""
        verdict = self.check(url, wait=1)
        if "id" not in verdict:
            raise Refused(verdict)
        return verdict["id"]

    def done(self, slot, status=None, retry_after=None):
        """Release a slot, and report the status and the Retry-After of the site's response."""
        outcome = {"status": status, "retry_after": retry_after}
        outcome = {key: value for key, value in outcome.items() if value}
        with contextlib.suppress(Refused):  # the lease may have expired
            self._request("/done", "POST", id=slot, **outcome).close()

    @contextlib.contextmanager
    def turn(self, url):
        """Hold a slot for url. Set status and retry_after of the value to those of the response."""
        turn = type("Turn", (), {"status": None, "retry_after": None})()
        slot = self.begin(url)
        try:
            yield turn
        finally:
            self.done(slot, turn.status, turn.retry_after)
