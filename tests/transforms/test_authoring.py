from __future__ import annotations

import pytest

import hakiri as hk
from hakiri.transforms.authoring import PIPELINE_MARK


def test_the_decorated_function_stays_as_it_is() -> None:
    def step(rows: list[int]) -> list[int]:
        """Twice."""
        return rows * 2

    decorated = hk.pipeline("orders")(step)

    assert decorated is step
    assert decorated([1]) == [1, 1]


def test_a_function_may_serve_several_pipelines() -> None:
    @hk.pipeline("orders")
    @hk.pipeline("refunds")
    def step(rows: object) -> object:
        return rows

    assert getattr(step, PIPELINE_MARK) == (("orders", None), ("refunds", None))


def test_a_decorator_without_an_id_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^@hk\.pipeline takes the id of a pipeline, as in @hk\.pipeline"):

        @hk.pipeline  # type: ignore[arg-type]
        def step(rows: object) -> object:
            return rows


def test_only_a_function_is_a_step() -> None:
    with pytest.raises(TypeError, match=r"^@hk\.pipeline stands on a function, not on a type$"):

        @hk.pipeline("orders")
        class Step:
            pass
