"""Values and whole pipelines as TOML text."""

from __future__ import annotations

from typing import Any

from hakiri.manifest.errors import NotInToml
from hakiri.manifest.layout import KeyPath, dotted

WIDEST_LINE = 100
_INLINE = frozenset({"source", "destination", "config"})


def toml_key(*parts: str) -> str:
    """A key, quoted where it must be: `spark.sql."a b"`."""
    from tomlkit import key

    return ".".join(key(part).as_string() for part in parts)


def toml_value(value: Any, path: KeyPath = ()) -> str:
    """A value on one line; raises NotInToml for null, wherever it is inside."""
    from tomlkit import item

    if value is None:
        raise NotInToml(dotted(path))
    if isinstance(value, dict):
        inner = ", ".join(
            f"{toml_key(key)} = {toml_value(item, (*path, key))}" for key, item in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item, (*path, number)) for number, item in enumerate(value)) + "]"
    return str(item(value).as_string())


def toml_block(data: dict[str, Any], header: str) -> str:
    """A pipeline as people write it: short things on one line, the others under headers of their own.

    `header` is `pipeline` for a `[[pipeline]]` block, or empty for a file that is one pipeline.
    """
    return "\n".join(_lines(data, header, is_item=bool(header), path=())) + "\n"


def _lines(data: dict[str, Any], header: str, *, is_item: bool, path: KeyPath) -> list[str]:
    lines = [f"[[{header}]]" if is_item else f"[{header}]"] if header else []
    tables: list[str] = []  # after all other keys, because a header claims what follows it
    for key, written in data.items():
        value = _all_long(written) if not path and key == "tables" else written
        inner = f"{header}.{toml_key(key)}" if header else toml_key(key)
        line = f"{toml_key(key)} = {toml_value(written, (*path, key))}"
        is_wide = len(line) > WIDEST_LINE
        if isinstance(value, dict) and value and (is_wide or key not in _INLINE):
            tables += ["", *_lines(value, inner, is_item=False, path=(*path, key))]
        elif is_wide and _is_list_of_tables(value):
            for number, entry in enumerate(value):
                tables += ["", *_lines(entry, inner, is_item=True, path=(*path, key, number))]
        elif is_wide and isinstance(value, list):
            items = [f"  {toml_value(item, (*path, key, number))}," for number, item in enumerate(value)]
            lines += [f"{toml_key(key)} = [", *items, "]"]
        else:
            lines.append(line)
    return lines + tables


def _all_long(tables: Any) -> Any:
    """The tables of a pipeline, all as objects if one is: a list under headers has no plain texts."""
    if not isinstance(tables, list) or not any(isinstance(entry, dict) for entry in tables):
        return tables
    return [{"name": entry} if isinstance(entry, str) else entry for entry in tables]


def _is_list_of_tables(value: Any) -> bool:
    return (
        isinstance(value, list) and bool(value) and all(isinstance(entry, dict) and entry for entry in value)
    )
