"""A crawler of five lines, through a politegate's /fetch."""

import os
import re
import urllib.parse

from courtesy import Gate, Refused

gate, queue, seen = Gate(os.environ["GATE"]), [os.environ["SITE"] + "/python/"], set()
for url in queue:
    if url not in seen:
        seen.add(url)
        try:
            with gate.fetch(url) as page:
                links = re.findall(rb"href=(\S+?)>", page.read()) + [page.headers.get("Location", "").encode()]
                queue += [urllib.parse.urljoin(url, link.decode()) for link in links if link]
        except Refused as refused:
            print(url, refused)
