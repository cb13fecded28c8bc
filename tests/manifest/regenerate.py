"""Write every `expected.txt` anew (`python tests/manifest/regenerate.py`); then read the diff."""

from __future__ import annotations

from pathlib import Path

from hakiri.manifest import ManifestInvalid, load_project, render_problems


def main() -> None:
    for folder in sorted((Path(__file__).parent / "bad").iterdir()):
        try:
            load_project(folder)
        except ManifestInvalid as error:
            (folder / "expected.txt").write_text(render_problems(error) + "\n", encoding="utf-8")
        else:
            raise SystemExit(f"{folder.name} is a good manifest")


if __name__ == "__main__":
    main()
