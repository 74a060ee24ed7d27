import json
import shutil

import pytest

from bench.report.__main__ import main
from tests.report.test_html_bisection import VERDICT


@pytest.fixture
def bisection(tmp_path):
    folder = tmp_path / "bisect" / "20261130-000000-aaaa"
    folder.mkdir(parents=True)
    (folder / "request.json").write_text("{}")
    (folder / "verdict.json").write_text(json.dumps(VERDICT))
    (folder / "verdict.md").write_text("# found\n")
    return folder


def test_a_bisection_by_its_folder_has_a_page_with_its_values(bisection, capsys) -> None:
    assert main([str(bisection)]) == 0
    said = capsys.readouterr()
    assert "4753d75e2b free raw blobs" in said.out and "report.html" in said.err
    page = (bisection / "report.html").read_text()
    assert 'data-plot="bisection"' in page or "data-plot=bisection" in page


def test_a_bisection_by_its_id(bisection, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ET_PEAK_RESULTS", str(bisection.parent.parent))
    assert main([bisection.name, "html=no", "format=markdown"]) == 0
    assert capsys.readouterr().out == "# found\n"
    assert main([bisection.name, "html=no", "format=json"]) == 0
    assert json.loads(capsys.readouterr().out) == VERDICT
    assert not (bisection / "report.html").exists()


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"culprits": 1}'])
def test_a_bisection_without_a_verdict_is_refused_in_one_line(bisection, content, capsys) -> None:
    path = bisection / "verdict.json"
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    assert main([str(bisection)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_relative_path_is_from_where_the_person_stands(
    bisection, tmp_path, monkeypatch, capsys
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(bisection, elsewhere / "mine")
    monkeypatch.chdir(elsewhere)
    assert main(["mine", "html=page.html"]) == 0
    assert (elsewhere / "page.html").exists()
    assert main(["yours"]) == 2
    assert "yours" in capsys.readouterr().err
