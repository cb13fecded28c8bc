"""The connector that `hakiri source new` makes, as values: which file holds what."""

from __future__ import annotations

from importlib.resources import files

from hakiri.sources.describing import example_block

_TEMPLATES = {
    "connectors/{{module}}.py": "connector.py.txt",
    "tests/test_{{module}}_connector.py": "connector_test.py.txt",
    "data/{{module}}.jsonl": "items.jsonl",
}


def connector_files(name: str) -> dict[str, str]:
    """The text of every file, by its path in the project."""
    folder = files("hakiri.cli.scaffold") / "files"
    texts = {path: (folder / template).read_text("utf-8") for path, template in _TEMPLATES.items()}
    return {_filled(path, name): _filled(text, name) for path, text in texts.items()}


def manifest_block(name: str) -> str:
    """A pipeline that reads with the new connector."""
    block = example_block(name, {"path": f"data/{_module(name)}.jsonl"}, tables=("items",))
    return block.replace(f'id = "{name}-example"', f'id = "{name}"')


def _module(name: str) -> str:
    return name.replace("-", "_")


def _filled(text: str, name: str) -> str:
    kind = "".join(part.capitalize() for part in _module(name).split("_"))
    for field, value in {"{{name}}": name, "{{module}}": _module(name), "{{class}}": kind}.items():
        text = text.replace(field, value)
    return text
