"""A small crawler that fetches its pages through a politegate."""

import os
import re
import urllib.parse

from courtesy import Gate, Refused

gate = Gate(os.environ["GATE"])
queue = [os.environ["SITE"] + "/python/"]
seen = set()
for url in queue:
    if url in seen:
        continue
    seen.add(url)
    try:
        with gate.fetch(url) as page:
            links = re.findall(rb"href=(\S+?)>", page.read())
            location = page.headers.get("Location")
    except Refused as refused:
        print(url, refused)
        continue
    targets = [link.decode() for link in links]
    if location:
        targets.append(location)
    queue += [urllib.parse.urljoin(url, target) for target in targets]
