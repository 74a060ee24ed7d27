from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.report.readme import cut

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_what_the_published_tables_say() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| status |" in text
    assert cut(text, ROOT) == text, "run nox -s readme"


def test_a_table_that_is_not_there_is_one_line() -> None:
    with pytest.raises(RequestError, match=r"results/none\.csv: not a table"):
        cut("<!-- table results/none.csv -->\n<!-- end -->\n", ROOT)
