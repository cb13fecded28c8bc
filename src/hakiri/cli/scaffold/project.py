"""Which files a new project has, and what they hold."""

from __future__ import annotations

from importlib.resources import files

from hakiri.cli.scaffold.sample import sample_orders

NEXT_COMMANDS = ("hakiri doctor", "hakiri plan", "hakiri preview orders", "hakiri apply")

_TEMPLATES = {
    "hakiri.toml": "hakiri.toml",
    "README.md": "README.md",
    "AGENTS.md": "AGENTS.md",
    ".gitignore": "gitignore",
    ".taplo.toml": "taplo.toml",
    ".vscode/settings.json": "settings.json",
    ".vscode/extensions.json": "extensions.json",
    "pipelines/orders.transforms.json": "orders.transforms.json",
    "transforms/orders.py": "orders.py.txt",
    "queries/revenue_by_country.sql": "revenue_by_country.sql",
}


def project_files(name: str) -> dict[str, str]:
    """The text of every file, by its path in the project."""
    folder = files("hakiri.cli.scaffold") / "files"
    fields = {"{{project}}": name, "{{next}}": "\n".join(NEXT_COMMANDS)}
    texts = {path: (folder / template).read_text(encoding="utf-8") for path, template in _TEMPLATES.items()}
    for field, value in fields.items():
        texts = {path: text.replace(field, value) for path, text in texts.items()}
    return {**texts, **{f"data/orders/{path}": text for path, text in sample_orders().items()}}
