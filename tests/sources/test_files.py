from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from hakiri.core.errors import ExitCode, HakiriError, Place
from hakiri.manifest import SourceSpec
from hakiri.sources import check_source, read_source, unreadable_file
from hakiri.sources.errors import BadSourceConfig, NoFiles, UnknownConnector
from hakiri.sources.files import FilesConfig, files_config, matching_files

PLACE = Place("hakiri.toml", 16)
A_GLOB = 'write a glob, as in path = "data/*.csv"'
KNOWN = "use one of: csv, jsonl, parquet, orc"


def source(**config: Any) -> SourceSpec:
    return SourceSpec(connector="files", config=config)


def names_of(root: Path, path: str) -> list[str]:
    return [file.name for file in matching_files(FilesConfig(path=path, format="csv", place=PLACE), root)]


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("id\n1\n")
    return root


@pytest.mark.parametrize(
    ("config", "problem", "hint"),
    [
        ({}, "`path` is missing", A_GLOB),
        ({"path": ""}, "`path` is missing", A_GLOB),
        ({"path": ["a.csv"]}, "`path` is not a text", A_GLOB),
        ({"pth": "a.csv"}, "unknown key `pth`", "did you mean `path`?"),
        ({"path": "a.csv", "delimiter": ";"}, "unknown key `delimiter`", "it takes path and format"),
        ({"path": "a.txt"}, "`txt` is no format it reads", KNOWN),
        ({"path": "a.csv", "format": "xml"}, "`xml` is no format it reads", KNOWN),
        ({"path": "a.csv", "format": ""}, "`` is no format it reads", KNOWN),
        ({"path": "a.csv", "format": ["csv"]}, "`format` is not a text", KNOWN),
        ({"path": "a.csv", "format": 5}, "`format` is not a text", KNOWN),
        ({"path": "data/*"}, "`format` is missing, and `data/*` has no ending that tells it", KNOWN),
        ({"path": "data/**x.csv"}, "`data/**x.csv` is no glob", 'write it as in path = "data/*.csv"'),
    ],
)
def test_a_config_that_is_wrong_is_told_with_its_place(
    tmp_path: Path, config: dict[str, Any], problem: str, hint: str
) -> None:
    with pytest.raises(BadSourceConfig) as refused:
        check_source(source(**config), tmp_path, PLACE)

    assert str(refused.value) == f"the config of connector `files` is wrong: {problem}"
    assert (refused.value.hint, refused.value.places) == (hint, (PLACE,))
    assert refused.value.exit_code is ExitCode.USAGE


def test_an_unknown_connector_is_told_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownConnector) as refused:
        check_source(SourceSpec(connector="shopify"), tmp_path, PLACE)

    assert str(refused.value) == "there is no connector `shopify` in this version"
    assert (refused.value.hint, refused.value.places) == ("use one of: files", (PLACE,))
    assert refused.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("path", "kind"), [("a.csv", "csv"), ("A.CSV", "csv"), ("b/*.jsonl", "jsonl"), ("*.parquet", "parquet")]
)
def test_the_ending_tells_the_format(path: str, kind: str) -> None:
    assert files_config({"path": path}, PLACE) == FilesConfig(path=path, format=kind, place=PLACE)


def test_a_format_that_is_given_wins_over_the_ending() -> None:
    assert files_config({"path": "a.txt", "format": "csv"}, PLACE).format == "csv"


def test_a_relative_glob_starts_at_the_project_and_is_in_order(tmp_path: Path) -> None:
    root = write(tmp_path / "shop", "data/b.csv", "data/a.csv", "data/c.txt", "data/deep/d.csv", "e.csv")

    assert names_of(root, "data/*.csv") == ["a.csv", "b.csv"]
    assert names_of(root, "**/*.csv") == ["a.csv", "b.csv", "d.csv", "e.csv"]
    assert names_of(root, "e.csv") == ["e.csv"]


def test_an_absolute_glob_starts_at_the_root(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/a.csv")

    assert names_of(tmp_path / "shop", f"{tmp_path}/elsewhere/*.csv") == ["a.csv"]


def test_a_glob_may_leave_the_project(tmp_path: Path) -> None:
    write(tmp_path, "shop/x.csv", "shared/a.csv")

    assert names_of(tmp_path / "shop", "../shared/*.csv") == ["a.csv"]


def test_the_name_of_the_projects_folder_is_no_glob(tmp_path: Path) -> None:
    root = write(tmp_path / "shop [2026]*", "data/a.csv")
    write(tmp_path / "shop 2", "data/wrong.csv")

    assert names_of(root, "data/*.csv") == ["a.csv"]


def test_folders_and_hidden_files_do_not_match(tmp_path: Path) -> None:
    write(tmp_path, "data/.a.csv", "data/_SUCCESS.csv", "data/a.csv")
    (tmp_path / "data" / "folder.csv").mkdir()

    assert names_of(tmp_path, "data/*.csv") == ["a.csv"]


@pytest.mark.parametrize("path", ["data/*.csv", "data", "data/_hidden.csv", "/nowhere/*.csv"])
def test_no_file_is_told_with_the_glob_and_the_place(tmp_path: Path, path: str) -> None:
    write(tmp_path, "data/_hidden.csv")

    with pytest.raises(NoFiles) as refused:
        check_source(source(path=path, format="csv"), tmp_path, PLACE)

    assert str(refused.value) == f"no file matches `{path}`"
    assert refused.value.hint == "check `path` in the source's config; it starts at the project's folder"
    assert refused.value.places == (PLACE,)
    assert refused.value.exit_code is ExitCode.FAILED


def read(spark: Any, root: Path, **config: Any) -> Any:
    return read_source(spark, source(**config), root, PLACE)


def types_of(frame: Any) -> dict[str, str]:
    return dict(frame.dtypes)


@pytest.mark.spark
def test_csv_is_read_with_the_types_that_its_values_have(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "id,name,price,day,at,is_paid\n1,Ada,4.50,2026-01-31,2026-01-31T08:00:00Z,true\n2,,,,,\n"
    )

    frame = read(spark, tmp_path, path="*.csv")

    assert types_of(frame) == {
        "id": "int",
        "name": "string",
        "price": "double",
        "day": "date",
        "at": "timestamp",
        "is_paid": "boolean",
    }
    table = frame.orderBy("id").toArrow().to_pylist()
    assert tuple(table[0].values()) == (
        1,
        "Ada",
        4.5,
        date(2026, 1, 31),
        datetime(2026, 1, 31, 8, tzinfo=UTC),
        True,
    )
    assert tuple(table[1].values()) == (2, None, None, None, None, None)


@pytest.mark.spark
def test_csv_of_other_programs_is_read_with_its_doubled_quotes(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,said\n1,"say ""hi"", you"\n2,"a \\"\n')

    rows = read(spark, tmp_path, path="a.csv").orderBy("id").collect()

    assert [row["said"] for row in rows] == ['say "hi", you', "a \\"]


@pytest.mark.spark
def test_jsonl_is_read_with_nested_values(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "tags": ["x"], "by": {"name": "Ada"}}\n{"id": 2}\n')

    frame = read(spark, tmp_path, path="a.jsonl")

    assert types_of(frame) == {"by": "struct<name:string>", "id": "bigint", "tags": "array<string>"}
    assert frame.where("id = 1").toArrow().to_pylist() == [{"by": {"name": "Ada"}, "id": 1, "tags": ["x"]}]


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files_keep_their_types_and_may_have_gained_columns(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    old = spark.sql("SELECT 1 AS id, CAST(1.5 AS DECIMAL(5,2)) AS price")
    new = spark.sql("SELECT 2 AS id, CAST(2.5 AS DECIMAL(5,2)) AS price, DATE'2026-01-31' AS day")
    for name, frame in (("old", old), ("new", new)):
        frame.write.format(kind).save(str(tmp_path / name))

    read_back = read(spark, tmp_path, path=f"*/*.{kind}")

    assert types_of(read_back) == {"id": "int", "price": "decimal(5,2)", "day": "date"}
    assert [row["day"] for row in read_back.orderBy("id").collect()] == [None, date(2026, 1, 31)]


@pytest.mark.spark
def test_names_with_signs_of_a_glob_are_read_as_they_are(spark: Any, tmp_path: Path) -> None:
    root = write(tmp_path / "shop [1]", "data/a{1} [2]*?.csv", "data/b%20 c.csv")

    assert read(spark, root, path="data/*.csv").count() == 2


@pytest.mark.spark
@pytest.mark.parametrize(
    ("texts", "named", "problem"),
    [
        (
            {"a.csv": "id,n\n1,2\n3,secret,5\n"},
            "data/a.csv",
            "a line has more or fewer fields than the header",
        ),
        ({"a.csv": "id,n\n1\n"}, "data/a.csv", "a line has more or fewer fields than the header"),
        (
            {"a.csv": "id,n\n1,2\n", "b.csv": "n,id\n2,1\n"},
            "data/b.csv",
            "its header is not that of the first file",
        ),
        ({"a.jsonl": '{"id": 1}\n{"id":\n'}, "data/*.jsonl", "a line is no JSON object"),
        (
            {"a.parquet": "no"},
            "data/a.parquet",
            "file:{root}/data/a.parquet is not a Parquet file (length is too low: 2)",
        ),
    ],
)
def test_what_does_not_fit_fails_with_the_file_and_never_becomes_null(
    spark: Any, tmp_path: Path, texts: dict[str, str], named: str, problem: str
) -> None:
    from pyspark.errors import PySparkException

    (tmp_path / "data").mkdir()
    for name, text in texts.items():
        (tmp_path / "data" / name).write_text(text)
    pattern = f"data/*{Path(named).suffix}"

    with pytest.raises(PySparkException) as failed:
        read(spark, tmp_path, path=pattern).collect()
    told = unreadable_file(failed.value, pattern, tmp_path, PLACE)

    assert isinstance(told, HakiriError)
    assert str(told) == f"`{named}` cannot be read: {problem.format(root=tmp_path)}"
    assert (told.places, told.exit_code) == ((PLACE,), ExitCode.FAILED)


@pytest.mark.spark
def test_an_error_that_is_not_about_a_file_is_left_alone(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as failed:
        spark.sql("SELECT nosuch FROM range(1)").collect()

    assert unreadable_file(failed.value, "*.csv", tmp_path, PLACE) is None
