from __future__ import annotations

import pkgutil
import subprocess
import sys

import hakiri.core

HEAVY = ("pydantic", "rich", "typer", "pyspark", "pyarrow", "duckdb", "pandas", "grpc", "cronsim", "tomlkit")


def test_the_whole_room_loads_nothing_heavy() -> None:
    modules = [found.name for found in pkgutil.walk_packages(hakiri.core.__path__, "hakiri.core.")]
    program = f"import sys, {', '.join(modules)}; print(*(name for name in {HEAVY!r} if name in sys.modules))"

    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert loaded.stdout.strip() == ""


def test_the_settings_load_no_hashing_url_or_calendar_modules() -> None:
    slow = ("hashlib", "urllib.parse", "calendar", "json", "difflib", "base64")
    program = f"import sys, hakiri.core.settings; print(*(name for name in {slow!r} if name in sys.modules))"

    loaded = subprocess.run(
        [sys.executable, "-S", "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": hakiri.core.__path__[0].removesuffix("/hakiri/core")},
    )

    assert loaded.stdout.strip() == ""
