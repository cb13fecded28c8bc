"""Arrow without pandas, in processes of their own: what is loaded here says nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALONE = """
import sys
import pyarrow as pa
from hakiri.engine import arrow_without_pandas
arrow_without_pandas()
arrow_without_pandas()
assert pa.array([1, None]).null_count == 1
assert pa.RecordBatch.from_pylist([{"a": 1}]).num_rows == 1
assert "pandas" not in sys.modules
"""
SERIES = """
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
assert pa.array(pd.Categorical(["a", "b"])).type == pa.dictionary(pa.int8(), pa.string())
assert pa.table({"a": pd.Index([1, 2])}).to_pylist() == [{"a": 1}, {"a": 2}]
times = pd.DataFrame({"a": pd.to_datetime(["2026-01-01"], utc=True)})
assert pa.Table.from_pandas(times).to_pandas().equals(times)
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(ALONE, id="values alone"),
        pytest.param(ALONE + "import pandas as pd\n" + SERIES, id="pandas, loaded afterwards"),
        pytest.param("import pandas as pd\n" + ALONE.replace("not in", "in") + SERIES, id="pandas before"),
        pytest.param(
            ALONE
            + "frame = pa.table({'a': [1, None]}).to_pandas()\n"
            + "assert frame['a'].isna().tolist() == [False, True]\n"
            + "import pandas as pd\n"
            + SERIES,
            id="a frame of Arrow's making",
        ),
        pytest.param(
            ALONE + "from pandas.api.types import is_float_dtype\nimport pandas as pd\n" + SERIES,
            id="a part of pandas",
        ),
        pytest.param(
            ALONE + "from hakiri.engine.connect import load_client\nload_client()\n"
            "assert 'pandas' not in sys.modules\nimport pandas as pd\n" + SERIES,
            id="with Spark's client",
        ),
        pytest.param(
            "import threading\nseen = []\n"
            "other = threading.Thread(target=lambda: seen.append(__import__('pandas')))\n"
            "class Late(list):\n"
            "    def __len__(self): other.start(); other.join(); return 0\n"
            "import pyarrow as pa\narray = pa.array\npa.array = lambda _: array(Late())\n"
            "from hakiri.engine import arrow_without_pandas\narrow_without_pandas()\n"
            "assert seen\npa.array = array\nimport pandas as pd\n" + SERIES,
            id="another thread loads it meanwhile",
        ),
    ],
)
def test_arrow_loads_no_pandas_and_knows_it_once_it_is_loaded(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
