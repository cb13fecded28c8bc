"""Paths as Spark takes them."""

from __future__ import annotations

from hakiri.engine.paths import spark_path


def test_signs_of_patterns_in_a_path_stand_for_themselves() -> None:
    assert spark_path("/data/[x]/{a,b}/c*d?e\\f/it's 100%.parquet") == (
        r"/data/\[x\]/\{a,b\}/c\*d\?e\\f/it's 100%.parquet"
    )
