"""A tap of the first days: no metadata, `--properties` in place of `--catalog`, and selection in the schema."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "inclusion": "automatic"},
        "name": {"type": ["null", "string"], "inclusion": "available"},
        "blob": {"inclusion": "unsupported"},
    },
}
parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--discover", action="store_true")
parser.add_argument("--properties")
parser.add_argument("--state")
args = parser.parse_args()
if args.discover:
    streams = [{"stream": name, "schema": SCHEMA, "key_properties": ["id"]} for name in ("people", "places")]
    json.dump({"streams": streams}, sys.stdout)
else:
    for stream in json.loads(Path(args.properties).read_text())["streams"]:
        if stream["schema"].get("selected"):
            properties = stream["schema"]["properties"]
            kept = [name for name, schema in properties.items() if schema.get("selected")]
            print(
                json.dumps(
                    {
                        "type": "SCHEMA",
                        "stream": stream["stream"],
                        "schema": stream["schema"],
                        "key_properties": ["id"],
                    }
                )
            )
            for number in range(3):
                row = {"id": number, "name": f"{stream['stream']} {number}"}
                print(
                    json.dumps(
                        {
                            "type": "RECORD",
                            "stream": stream["stream"],
                            "record": {name: row[name] for name in kept},
                        }
                    )
                )
