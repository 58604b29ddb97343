"""Ask a politegate for pages, turns and verdicts, with Python's library alone.

Start one: politegate -user-agent "ExampleBot/1.0 (+https://example.com/bot)"

    from courtesy import Gate
    gate = Gate()  # http://127.0.0.1:8500
    with gate.fetch("https://example.com/") as page:
        print(page.status, page.read())

What may not be fetched raises Refused. A redirect is a page: ask for its Location. More:

    gate.check("https://example.com/")["allowed"]
    with gate.turn("https://example.com/") as turn:  # a request of your own
        turn.status = requests.get("https://example.com/", allow_redirects=False).status_code
"""

import contextlib
import json
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    """The page may not be fetched now. verdict is what the gate says."""

    def __init__(self, verdict):
        self.verdict = verdict
        super().__init__(" ".join(str(verdict[k]) for k in ("reason", "rule", "error") if k in verdict))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):  # the gate judges each hop: ask it for the next one
        return None


class Gate:
    def __init__(self, base="http://127.0.0.1:8500", token=None, timeout=330):
        self.base, self.timeout = base, timeout
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)

    def _ask(self, path, method="GET", **query):
        url = f"{self.base}{path}?{urllib.parse.urlencode(query)}"
        try:
            return self.opener.open(urllib.request.Request(url, headers=self.headers, method=method), timeout=self.timeout)
        except urllib.error.HTTPError as answer:
            if answer.headers.get("Courtesy-Verdict"):
                raise Refused(json.load(answer)) from None
            if answer.headers.get("Courtesy-Decision") is None:  # not a site's: the token is wrong, or this is no gate
                raise
            return answer

    def check(self, url, **query):
        with self._ask("/check", url=url, **query) as answer:
            return json.load(answer)

    def fetch(self, url):
        """Return the site's response, whatever its status, or raise Refused."""
        page = self._ask("/fetch", url=url)
        page.url = url  # links are relative to it, not to the URL of the gate
        return page

    def begin(self, url):
        """Wait until url's host may be asked. Return the id for done()."""
        verdict = self.check(url, wait=1)
        if "id" not in verdict:
            raise Refused(verdict)
        return verdict["id"]

    def done(self, slot, status=None, retry_after=None):
        """Give the slot back, and say what the site has answered."""
        said = {"status": status, "retry_after": retry_after}
        with contextlib.suppress(Refused):  # the lease may be over
            self._ask("/done", "POST", id=slot, **{k: v for k, v in said.items() if v}).close()

    @contextlib.contextmanager
    def turn(self, url):
        turn = type("Turn", (), {"status": None, "retry_after": None})()
        slot = self.begin(url)
        try:
            yield turn
        finally:
            self.done(slot, turn.status, turn.retry_after)
