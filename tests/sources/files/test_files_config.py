"""What the connector `files` takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sources.files.lab import PLACE, files_config

from hakiri.core.errors import ExitCode
from hakiri.sources.errors import BadSourceConfig

A_GLOB = 'write a glob, as in path = "data/*.csv"'
KNOWN = "use one of: csv, jsonl, parquet, orc"
CSV = {"path": "a.csv"}


@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        (
            {},
            "`path` is missing",
            (
                'a glob that starts at the project, as in "data/**/*.csv", or a list of them; '
                "`{table}` stands for the table's name"
            ),
        ),
        ({"path": ""}, "`path` is empty", A_GLOB),
        ({"path": []}, "`path` is empty", A_GLOB),
        ({"path": 5}, "`path` is neither a text nor a list of texts", A_GLOB),
        ({"path": ["a.csv", 5]}, "`path` is neither a text nor a list of texts", A_GLOB),
        ({"pth": "a.csv"}, "unknown key `pth`", "did you mean `path`?"),
        ({}, "`path` is missing", None),
        (CSV | {"delimeter": ";"}, "unknown key `delimeter`", "did you mean `delimiter`?"),
        ({"path": "a.txt"}, "`format` is missing, and `a.txt` has no ending that tells it", KNOWN),
        ({"path": "data/*"}, "`format` is missing, and `data/*` has no ending that tells it", KNOWN),
        ({"path": "a.csv.GZ"}, "`format` is missing, and `a.csv.GZ` has no ending that tells it", KNOWN),
        (
            {"path": ["a.csv", "b.orc"]},
            "`format` is missing, and the globs have several endings",
            KNOWN,
        ),
        (CSV | {"format": "xml"}, "`format` is `xml`, which is none that it reads", KNOWN),
        (CSV | {"format": ""}, "`format` is ``, which is none that it reads", KNOWN),
        (CSV | {"format": ["csv"]}, "`format` is not a text", KNOWN),
        (
            {"path": "data/**x.csv"},
            (
                "`path` is `data/**x.csv`, which is no glob: "
                "`**` stands for whole folders and takes no other signs beside it"
            ),
            'write it as in path = "data/**/*.csv"',
        ),
        (
            {"path": "/", "format": "csv"},
            "`path` is `/`, which is no glob: it names no file",
            'write it as in path = "data/**/*.csv"',
        ),
        (
            {"path": ["{table}/*.csv", "b.csv"]},
            "`path` has `{table}` in some globs only",
            "write it in all of them, or in none",
        ),
        (
            CSV | {"delimiter": ";;"},
            "`delimiter` is not one ASCII character",
            'write it as in delimiter = ";"',
        ),
        (CSV | {"quote": "«"}, "`quote` is not one ASCII character", 'write it as in delimiter = ";"'),
        (
            CSV | {"header": "id,name"},
            "`header` is neither true, false nor a list of names",
            'write header = true, or header = ["id", "name"]',
        ),
        (CSV | {"header": ["a", "A"]}, "`header` has a name twice", "give each column a name of its own"),
        (
            {"path": "a.jsonl", "delimiter": ";"},
            "`delimiter` is for CSV, and the files are jsonl",
            "remove it",
        ),
        (
            {"path": "a.parquet", "columns": {"a": "int"}},
            "`columns` is for texts, and parquet files have types of their own",
            "remove it",
        ),
        (
            CSV | {"columns": {"a": "array<int>"}},
            "`columns` declares `a` as array<int>, which a CSV cannot hold",
            "use bigint, int, double, decimal(p,s), boolean, string, date or timestamp",
        ),
        (CSV | {"columns": {"a": "bigin"}}, None, None),
        (CSV | {"encoding": "cp850"}, None, "of a CSV: utf-8, iso-8859-1, windows-1252 or utf-16"),
        (CSV | {"changed": "maybe"}, None, "what to do with a file that has changed since it was read"),
    ],
)
def test_a_config_that_is_wrong_is_told_with_its_place(
    config: dict[str, Any], problem: str | None, hint: str | None
) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        files_config(**config)

    if problem is not None:
        assert str(refused.value) == f"the config of connector `files` is wrong: {problem}"
    if hint is not None:
        assert refused.value.hint == hint
    assert (refused.value.places, refused.value.exit_code) == ((PLACE,), ExitCode.USAGE)


@pytest.mark.parametrize("path", ["s3a://bucket/*.csv", "hdfs://host/a.csv", "file:///tmp/a.csv"])
def test_files_that_are_not_in_a_folder_are_refused(path: str) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        files_config(path=path)

    assert str(refused.value) == (
        "the config of connector `files` is wrong: "
        f"`path` is `{path}`, and only files in a mounted folder are read"
    )
    assert refused.value.hint == "mount or copy them, and write the path without a scheme, as in data/*.csv"


@pytest.mark.parametrize("config", [{"path": "a.avro"}, {"path": "a.bin", "format": "avro"}])
def test_avro_is_refused_with_what_to_do_instead(config: dict[str, Any]) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        files_config(**config)

    assert str(refused.value) == (
        "the config of connector `files` is wrong: `format` is avro, "
        "and Spark reads Avro only with a module that its Python package does not carry"
    )
    assert refused.value.hint == (
        "convert the files to Parquet, or read them with a connector of your own (hakiri source new)"
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("b/*.jsonl", "jsonl"),
        ("*.parquet", "parquet"),
        ("**/*.orc", "orc"),
        ("a.csv.gz", "csv"),
        ("*.jsonl.zst", "jsonl"),
        ("*.jsonl.bz2", "jsonl"),
        (["a/*.csv", "b/*.csv.gz"], "csv"),
    ],
)
def test_the_ending_tells_the_format(path: str | list[str], kind: str) -> None:
    assert files_config(path=path).format == kind


def test_a_format_that_is_given_wins_over_the_ending() -> None:
    assert files_config(path="a.txt", format="csv").format == "csv"


def test_a_glob_may_be_one_or_several() -> None:
    assert files_config(path="a.csv").path == ("a.csv",)
    assert files_config(path=["a.csv", "b.csv"]).path == ("a.csv", "b.csv")
