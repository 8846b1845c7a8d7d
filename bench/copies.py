"""Creates objects of one content as fast as the server takes them, by h2load."""

import json

import harness


def create_copies(network, url, token, thing, count, folder, seconds=300):
    """`thing` has a generateName. The body is written into `folder`."""
    body = folder / "thing.json"
    body.write_text(json.dumps(thing))
    words = ["h2load", "-n", str(count), "-c", "4", "-m", "16", "-H", f"authorization: Bearer {token}", "-H", "accept: application/json",
             "-H", "content-type: application/json", "-d", str(body), url]
    text = harness.run(network.inside(words), seconds=seconds).stdout
    if f"{count} succeeded" not in text or f"status codes: {count} 2xx" not in text:
        raise AssertionError(f"creating {count} at {url}: {text}")
