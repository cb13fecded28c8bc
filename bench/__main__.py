"""`python -m bench [NAME …]`: run every benchmark, or those named, and print what was measured."""

from __future__ import annotations

import sys

from bench import catalog, compaction, manifest_load, pipelines, reading, sources, start_up
from bench.measure import show, show_head

BENCHMARKS = {
    "start_up": start_up.run,
    "manifest_load": manifest_load.run,
    "catalog": catalog.run,
    "sources": sources.run,
    "pipelines": pipelines.run,
    "compaction": compaction.run,
    "reading": reading.run,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    show_head()
    for name in names or BENCHMARKS:
        print(f"running {name} …", file=sys.stderr)
        for each in BENCHMARKS[name]():
            show(each)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
