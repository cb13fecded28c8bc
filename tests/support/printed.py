"""The examples that the document of pipelines prints, word for word, pointed at servers on loopback."""

from __future__ import annotations

from pathlib import Path

PRINTED = Path(__file__).resolve().parents[1] / "manifest" / "documents"
PROJECT, HISTORY, AS_JSON = "hakiri-000.toml", "backfill-000.toml", "github-issues-000.json"
# All that is ever added to an example: where the service is.
_TOML = {
    "github": ('repo = "OpenHackersClub/gctrl"', 'repo = "torvalds/linux"'),
    "shopify": ('shop = "openhackers"',),
}
_JSON = ('"repo": "OpenHackersClub/gctrl"',)


def printed(name: str, **urls: str) -> str:
    """An example, with nothing added but the addresses of the services that stand in for the real ones."""
    text = (PRINTED / name).read_text("utf-8")
    for service, url in urls.items():
        for words in _TOML[service]:
            text = text.replace(f"{words} }}", f'{words}, base_url = "{url}" }}')
        for words in _JSON:
            text = text.replace(f"{words} }}", f'{words}, "base_url": "{url}" }}')
    return text
