import re
from pathlib import Path

import pytest

from bench.errors import RequestError
from bench.report.readme import cut
from bench.report.sources import find
from bench.rerun.find import find_recorded

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_what_the_published_tables_say() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "| status |" in text
    assert cut(text, ROOT) == text, "run nox -s readme"


def named_in_the_readme() -> list[str]:
    """The published tables, and rows of them, that the README's commands name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    words = re.findall(r"nox -s (?:rerun|compare|report) -- (\S+)", text)
    return [word for word in words if re.match(r"results/reference|[a-z]+-[\w.]+", word)]


@pytest.mark.parametrize("word", named_in_the_readme())
def test_what_the_readme_names_is_there(word: str) -> None:
    runs, results = ROOT / "results" / "runs", ROOT / "results"
    if ":" in word:
        assert find_recorded(word, runs, results).row["status"] == "ok"
    else:
        word = str(ROOT / word) if "/" in word else word
        assert all(len(source.table) for source in find(word, runs, results))


def test_the_readme_names_some_of_each() -> None:
    assert {word.partition("/")[0] for word in named_in_the_readme()} == {
        *("results", "pr-21795", "whisper-v1.4.1.csv:3")
    }


def test_a_table_that_is_not_there_is_one_line() -> None:
    with pytest.raises(RequestError, match=r"results/none\.csv: not a table"):
        cut("<!-- table results/none.csv -->\n<!-- end -->\n", ROOT)
