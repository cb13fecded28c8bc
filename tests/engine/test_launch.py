from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakiri.engine.config import EngineConfig
from hakiri.engine.java import Java
from hakiri.engine.launch import (
    Spark,
    installed_spark,
    plan_server,
    properties_text,
    server_command,
    server_environment,
    write_server_files,
)

JAVA = Java(
    executable=Path("/jdk/bin/java"), version="17.0.9", modules=frozenset({"java.base"}), origin="JAVA_HOME"
)
SPARK = Spark(home=Path("/spark"), version="4.3.0", python="/venv/bin/python")
ENV = {"PATH": "/bin", "HOME": "/home/a", "SHOPIFY_TOKEN": "hush", "AWS_PROFILE": "prod"}
CONFIG = EngineConfig(heap_mib=2048)


def test_a_server_sees_nothing_of_the_environment_that_nobody_named() -> None:
    seen = server_environment(CONFIG, JAVA, SPARK, ENV)

    assert seen == {
        "PATH": "/bin",
        "HOME": "/home/a",
        "SPARK_HOME": "/spark",
        "JAVA_HOME": "/jdk",
        "PYTHONHASHSEED": "0",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": "/venv/bin/python",
    }


def test_a_variable_that_the_project_names_is_passed_on() -> None:
    seen = server_environment(replace(CONFIG, pass_env=("AWS_PROFILE", "ABSENT")), JAVA, SPARK, ENV)

    assert seen["AWS_PROFILE"] == "prod"
    assert "ABSENT" not in seen


def test_executors_elsewhere_use_their_own_python_unless_told() -> None:
    elsewhere = replace(CONFIG, master="spark://a:7077")

    assert server_environment(elsewhere, JAVA, SPARK, ENV)["PYSPARK_PYTHON"] == "python3"
    named = replace(elsewhere, python="/opt/py/bin/python")
    assert server_environment(named, JAVA, SPARK, ENV)["PYSPARK_PYTHON"] == "/opt/py/bin/python"


def test_no_configuration_appears_on_the_command_line(tmp_path: Path) -> None:
    plan = plan_server(replace(CONFIG, conf={"spark.hadoop.fs.s3a.secret.key": "hush"}), JAVA, SPARK, ENV)

    files = write_server_files(plan, tmp_path)
    command = server_command(plan, files, jvm_flags=["-XX:AOTCache=/a"])

    assert "hush" not in " ".join(command)
    assert "spark.hadoop.fs.s3a.secret.key=hush" in files.properties.read_text()
    assert files.properties.stat().st_mode & 0o777 == 0o600
    assert command[:3] == ["/jdk/bin/java", "-Xmx2048m", "-XX:AOTCache=/a"]
    assert command[-6:] == [
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(files.properties),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def test_the_vector_module_is_asked_for_only_where_the_runtime_has_it(tmp_path: Path) -> None:
    without = plan_server(CONFIG, JAVA, SPARK, ENV)
    with_it = replace(without, java=replace(JAVA, modules=frozenset({"jdk.incubator.vector"})))
    files = write_server_files(without, tmp_path)

    assert "--add-modules=jdk.incubator.vector" not in server_command(without, files)
    assert "--add-modules=jdk.incubator.vector" in server_command(with_it, files)


def test_java_options_and_class_path_of_the_project_reach_the_driver(tmp_path: Path) -> None:
    conf = {"spark.driver.extraJavaOptions": "-Da='b c' -Xss4m", "spark.driver.extraClassPath": "/x.jar"}
    plan = plan_server(replace(CONFIG, conf=conf), JAVA, SPARK, ENV)

    command = server_command(plan, write_server_files(plan, tmp_path))

    assert "-Da=b c" in command
    assert "-Xss4m" in command
    assert command[command.index("-cp") + 1] == "/x.jar:/spark/jars/*"


@pytest.mark.parametrize(
    "changed",
    [
        {"config": replace(CONFIG, master="local[1]")},
        {"config": replace(CONFIG, heap_mib=1024)},
        {"config": replace(CONFIG, conf={"spark.x": "1"})},
        {"java": replace(JAVA, version="21.0.1")},
        {"spark": replace(SPARK, version="4.3.1")},
        {"spark": replace(SPARK, home=Path("/other"))},
        {"spark": replace(SPARK, python="/other/python")},
        {"env": ENV | {"PYTHONPATH": "/p"}},
        {"code": "changed"},
    ],
)
def test_whatever_changes_the_server_changes_its_key(changed: dict[str, object]) -> None:
    same = {"config": CONFIG, "java": JAVA, "spark": SPARK, "env": ENV}

    assert plan_server(**(same | changed)).key != plan_server(**same).key  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed", [{"config": replace(CONFIG, archive=False)}, {"env": ENV | {"SHOPIFY_TOKEN": "other"}}]
)
def test_what_the_server_never_sees_does_not_change_its_key(changed: dict[str, object]) -> None:
    same = {"config": CONFIG, "java": JAVA, "spark": SPARK, "env": ENV}

    assert plan_server(**(same | changed)).key == plan_server(**same).key  # type: ignore[arg-type]


def read_properties(text: str) -> dict[str, str]:
    """The rules of java.util.Properties, as far as one line a property needs them."""

    def unescaped(raw: str) -> str:
        out, chars = [], iter(raw)
        for char in chars:
            if char != "\\":
                out.append(char)
                continue
            escaped = next(chars)
            if escaped == "u":
                out.append(chr(int("".join(next(chars) for _ in range(4)), 16)))
            else:
                out.append({"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped))
        return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16")

    pairs = {}
    for line in text.split("\n")[:-1]:
        at = _first_bare_equals(line)
        pairs[unescaped(line[:at])] = unescaped(line[at + 1 :])
    return pairs


def _first_bare_equals(line: str) -> int:
    escaped = False
    for index, char in enumerate(line):
        if char == "=" and not escaped:
            return index
        escaped = char == "\\" and not escaped
    raise AssertionError(line)


@given(
    st.dictionaries(
        st.text("abc.=: #!\\é", min_size=1), st.text(st.characters(codec="utf-8", exclude_characters="\0\f"))
    )
)
def test_a_properties_file_gives_back_what_was_written(conf: dict[str, str]) -> None:
    text = properties_text(conf)

    assert text.isascii()
    assert read_properties(text) == conf


def test_the_installed_spark_is_found_without_importing_it() -> None:
    spark = installed_spark("/py")

    assert (spark.home / "jars").is_dir()
    assert spark.version.startswith("4.")
