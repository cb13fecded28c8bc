"""A tap of the first days: no metadata, `--properties` for `--catalog`, and selection in the schema."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "inclusion": "automatic"},
        "name": {"type": ["null", "string"], "inclusion": "available"},
        "blob": {"inclusion": "unsupported"},
    },
}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")


parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--discover", action="store_true")
parser.add_argument("--properties")
parser.add_argument("--state")
args = parser.parse_args()
if args.discover:
    streams = [{"stream": name, "schema": SCHEMA, "key_properties": ["id"]} for name in ("people", "places")]
    say({"streams": streams})
else:
    for stream in json.loads(Path(args.properties).read_text())["streams"]:
        name, schema = stream["stream"], stream["schema"]
        if schema.get("selected"):
            kept = [each for each, inner in schema["properties"].items() if inner.get("selected")]
            say({"type": "SCHEMA", "stream": name, "schema": schema, "key_properties": ["id"]})
            for number in range(3):
                row = {"id": number, "name": f"{name} {number}"}
                say({"type": "RECORD", "stream": name, "record": {each: row[each] for each in kept}})
