"""A tap that does everything by the book: discovery, a catalog with selection, and a state after some rows.

Its shop is a JSON file, `{stream: [row]}`. It reads a stream from the row after its bookmark. A file `mood`
beside it makes it fail: it is looked at before the start and before every row.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

EVERY = 2
STRING, WHOLE = {"type": ["null", "string"]}, {"type": ["null", "integer"]}
PROPERTIES = {
    "id": {"type": "integer"},
    "name": STRING,
    "at": {"type": ["null", "string"], "format": "date-time"},
    "price": {"type": ["null", "number"], "multipleOf": 0.01, "minimum": -1000000, "maximum": 1000000},
    "tags": {"type": ["null", "array"], "items": STRING},
    "about": {"type": ["null", "object"], "properties": {"size": WHOLE, "color": STRING}},
}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def log(text: str) -> None:
    sys.stderr.write(f"INFO {text}\n")
    sys.stderr.flush()


def entry(stream: str, keyless: list[str]) -> dict[str, Any]:
    key = [] if stream in keyless else ["id"]
    facts = {"table-key-properties": key, "valid-replication-keys": ["id"], "inclusion": "available"}
    properties = [
        {
            "breadcrumb": ["properties", name],
            "metadata": {"inclusion": "automatic" if name == "id" else "available"},
        }
        for name in PROPERTIES
    ]
    return {
        "tap_stream_id": stream,
        "stream": stream,
        "schema": {"type": "object", "properties": PROPERTIES},
        "metadata": [{"breadcrumb": [], "metadata": facts}, *properties],
    }


def check_mood(folder: Path, config: dict[str, Any]) -> None:
    mood = (folder / "mood").read_text() if (folder / "mood").exists() else ""
    if mood == "unreachable":
        log(f"ConnectionError: connection refused by shop.example with token {config['token']}")
        os._exit(1)
    if mood == "locked":
        log(f"HTTP 401 Unauthorized: `{config['token']}` is not known")
        os._exit(1)
    if mood == "broken":
        log(f"KeyError: nothing of this kind in {config}")
        os._exit(3)


def chosen(catalog: dict[str, Any]) -> list[tuple[str, set[str]]]:
    found = []
    for each in catalog["streams"]:
        facts = {tuple(item["breadcrumb"]): item["metadata"] for item in each["metadata"]}
        if facts[()].get("selected"):
            names = {
                crumb[1]
                for crumb, fact in facts.items()
                if crumb and (fact.get("selected") or fact["inclusion"] == "automatic")
            }
            found.append((each["tap_stream_id"], names))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--discover", action="store_true")
    parser.add_argument("--catalog")
    parser.add_argument("--state")
    args = parser.parse_args()
    config = json.loads(Path(args.config).read_text())
    shop = Path(config["shop"])
    with (shop.parent / "starts").open("a") as starts:
        starts.write(f"{' '.join(sys.argv[1:])}\n")
    log(f"starting with {config['token']}")
    check_mood(shop.parent, config)
    rows = json.loads(shop.read_text())
    if args.discover:
        streams = [entry(stream, config.get("keyless", [])) for stream in rows]
        sys.stdout.write(json.dumps({"streams": streams}, indent=2))
        return
    state = json.loads(Path(args.state).read_text()) if args.state else {"bookmarks": {}}
    for stream, names in chosen(json.loads(Path(args.catalog).read_text())):
        schema = {"type": "object", "properties": {name: PROPERTIES[name] for name in names}}
        say({"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": ["id"]})
        say({"type": "STATE", "value": state})
        last = state["bookmarks"].get(stream, {}).get("row", 0)
        for number, row in enumerate(rows[stream], start=1):
            if number <= last:
                continue
            check_mood(shop.parent, config)
            record = {name: value for name, value in row.items() if name in names or name not in PROPERTIES}
            say({"type": "RECORD", "stream": stream, "record": record, "time_extracted": row.get("at")})
            if number % EVERY == 0 or number == len(rows[stream]):
                state = {"bookmarks": {**state["bookmarks"], stream: {"row": number}}}
                say({"type": "STATE", "value": state})


main()
