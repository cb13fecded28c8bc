from __future__ import annotations

from pathlib import Path

import pytest

from hakiri.engine.errors import JavaNotFound
from hakiri.engine.java import feature_of, find_java


def jdk(root: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    home = root / f"jdk-{version}"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    executable = home / "bin" / "java"
    executable.write_text("#!/bin/sh\nexit 1\n")
    executable.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("version", "feature"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21), ("", 0)]
)
def test_the_feature_release_is_read_from_every_form_of_version(version: str, feature: int) -> None:
    assert feature_of(version) == feature


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    named, on_path = jdk(tmp_path / "a", "21.0.1"), jdk(tmp_path / "b", "17.0.9")

    java = find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})

    assert (java.version, java.origin, java.home) == ("21.0.1", "JAVA_HOME", named)


def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, on_path = jdk(tmp_path / "a", "1.8.0_402"), jdk(tmp_path / "b", "17.0.9")

    java = find_java({"JAVA_HOME": str(old), "PATH": str(on_path / "bin")})

    assert (java.version, java.origin) == ("17.0.9", "PATH")


def test_a_link_on_the_path_is_followed_to_its_runtime(tmp_path: Path) -> None:
    home = jdk(tmp_path, "17.0.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_without_any_java_the_wheel_is_used() -> None:
    java = find_java({"PATH": ""})

    assert java.origin == "hakiri[java]"
    assert java.feature >= 17


def test_a_java_asked_for_by_the_setting_is_used_or_refused(tmp_path: Path) -> None:
    old, good = jdk(tmp_path, "11.0.2"), jdk(tmp_path, "17.0.9")

    with pytest.raises(JavaNotFound) as refused:
        find_java({"JAVA_HOME": str(good)}, setting=str(old))

    assert str(refused.value) == (
        "Spark needs Java 17 or newer, and none was found (engine.java: Java 11.0.2 is too old)"
    )
    assert refused.value.hint == "pip install 'hakiri[java]', or install a JDK and set JAVA_HOME"


def test_a_runtime_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = jdk(tmp_path, "0")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"22.0.1\"' >&2\n")

    assert find_java({}, setting=str(home)).version == "22.0.1"
