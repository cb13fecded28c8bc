"""The manifests in the documentation of sources over HTTP have configs that their connectors take."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hakiri.core.errors import Place
from hakiri.sources.config import read_config
from hakiri.sources.registry import connector_class

DOCS = Path(__file__).resolve().parents[3] / "docs" / "sources"
BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["rest", "github", "shopify"])
def test_every_config_in_the_documentation_is_taken(page: str) -> None:
    path = DOCS / f"{page}.md"
    pipelines = [
        one for block in BLOCK.findall(path.read_text("utf-8")) for one in tomllib.loads(block)["pipeline"]
    ]

    for pipeline in pipelines:
        source, place = pipeline["source"], Place(path.name)
        kind = connector_class(source["connector"], None, place)
        secrets = tuple(pipeline.get("secrets", ()))
        read_config(
            kind.Config, source["config"], connector=source["connector"], place=place, secrets=secrets
        )

    assert {pipeline["source"]["connector"] for pipeline in pipelines} == {page}
