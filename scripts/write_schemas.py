"""Writes docs/schemas: the JSON Schema of every report and of the manifest files, made from the types."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hakiri.cli.reports import REPORTS
from hakiri.cli.reports.schemas import report_schema
from hakiri.manifest.schema import pipeline_schema, project_schema, schema_text

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"


def schema_texts() -> dict[str, str]:
    """The text of every file of docs/schemas, by its name."""
    schemas = {name: report_schema(name) for name in REPORTS}
    schemas |= {"manifest-pipeline": pipeline_schema(), "manifest-project": project_schema()}
    return {f"{name}.json": schema_text(schema) for name, schema in sorted(schemas.items())}


def main() -> int:
    """Write what differs and remove what is no more; with `--check` only say whether anything would."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, and fail if anything would")
    is_check = parser.parse_args().check
    wanted = schema_texts()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    if wanted == present:
        return 0
    changed = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    sys.stderr.write(f"docs/schemas differs: {', '.join(changed)}\n")
    if is_check:
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
