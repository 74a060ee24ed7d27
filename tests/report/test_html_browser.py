"""report.html in a real headless browser: any Chromium on the machine."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.analysis.conclusion import Conclusion
from bench.report.html import write_report
from bench.report.table import summarise
from tests.report.html_data import many, phases_of, rows_of, timeline_of
from tests.report.test_html_bisection import VERDICT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
EVIL = """<script>alert(1)</script>"><img src=x onerror=alert(2)>'&{{7*7}}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("ET_PEAK_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser on PATH ({', '.join(NAMES)}); ET_PEAK_BROWSER= names one")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser, tmp_path: Path) -> Iterator[Any]:
    """Write a report, open it, and fail at the end if it said or fetched anything."""
    said: list[str] = []
    contexts = []

    def open_report(rows, phases=None, conclusions=(), bisection=None, timeline=None, **options):
        path = tmp_path / "report.html"
        write_report(path, rows, phases, conclusions, bisection, timeline)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: said.append(request.url) if outside(request) else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert said == []


def outside(request) -> bool:
    return not request.url.startswith(("file:", "data:", "blob:"))


def ten():
    return rows_of("precision=fp32,int8", "method=encode,decode", "iterations=1,20").head(10)


def drawn(page, section: str, count: int = 1) -> None:
    page.locator(f"#{section}").scroll_into_view_if_needed()
    page.wait_for_function(
        "([id, n]) => document.querySelectorAll(`#${id} .plot :is(svg, canvas)`).length >= n",
        arg=[section, count],
    )


def column(page, title: str) -> list[str]:
    headers = page.locator("#cells thead th").all_text_contents()
    return page.locator(
        f"#cells tbody td:nth-child({headers.index(title) + 1})"
    ).all_text_contents()


def sort(page, title: str) -> None:
    page.locator("#cells thead button", has_text=title).first.click()


def test_the_table_is_the_terminals(visit) -> None:
    rows = ten()
    page = visit(rows)
    summary = summarise(rows)
    titles = {"peak": "peak, MB", "total": "total, MB", ".pte": ".pte, MB"}
    for name in (
        "precision",
        "method",
        "runs",
        "peak",
        "total",
        "d/file",
        "time",
        ".pte",
        "status",
    ):
        place = summary.header.index(name)
        assert column(page, titles.get(name, name)) == [line[place] for line in summary.lines]


@pytest.mark.parametrize("count", [10, 5000])
def test_it_renders_sorts_and_filters(visit, count: int) -> None:
    rows = ten() if count == 10 else many(count)
    page = visit(rows, phases_of(rows))
    for section in ("matrix", "phases", "iterations"):
        drawn(page, section)
    whole = page.locator("#filters output").text_content()
    assert whole == f"all {len(rows)} cells"

    sort(page, "peak, MB")
    peaks = sorted(rows["peak_delta_bytes"] / 1e6)
    assert [float(text) for text in column(page, "peak, MB")] == peaks[:100]
    sort(page, "peak, MB")
    assert [float(text) for text in column(page, "peak, MB")] == peaks[::-1][:100]

    page.locator("#filters select[name=precision]").select_option(label="int8")
    kept = rows["precision"].eq("int8").sum()
    assert page.locator("#filters output").text_content() == f"{kept} of {len(rows)} cells"
    assert set(column(page, "precision")) == {"int8"}
    page.locator("#filters input").fill("decode")
    page.wait_for_function(
        "text => document.querySelector('#filters output').textContent !== text",
        arg=f"{kept} of {len(rows)} cells",
    )
    assert set(column(page, "method")) == {"decode"}
    for section in ("matrix", "phases", "iterations"):
        drawn(page, section)
    page.get_by_role("button", name="Show all").click()
    assert page.locator("#filters output").text_content() == whole


def test_many_cells_are_in_pages(visit) -> None:
    page = visit(many(250))
    assert page.locator("#cells tbody tr").count() == 100
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert page.locator("#cells tbody tr").count() == 50
    assert page.get_by_role("button", name="Next").is_disabled()


def test_a_cell_tells_its_figures_and_its_command(visit) -> None:
    rows = ten()
    page = visit(rows, phases_of(rows))
    drawn(page, "matrix")
    page.locator("#matrix svg .mark-rect path").first.hover(force=True)  # its text lies on it
    tip = page.locator("#tip")
    assert "7.0 MB" in tip.inner_text() or "8.0 MB" in tip.inner_text()
    assert "nox -s bench -- model=tiny precision=fp32" in tip.inner_text()
    page.locator("#cells tbody tr").first.click()
    dialog = page.locator("dialog[open]")
    assert "nox -s bench -- model=tiny" in dialog.locator("code").inner_text()
    dialog.locator("svg").wait_for()
    dialog.get_by_role("button", name="Close").click()


def test_text_in_cells_stays_text(visit) -> None:
    rows = ten()
    rows["model"] = EVIL
    rows.loc[0, ["status", "reason", "undelegated_ops"]] = ["failed", EVIL, EVIL]
    conclusions = [Conclusion("finding", "model", EVIL, (rows["cell_key"][0],), EVIL)]
    verdict = {**VERDICT, "metric": EVIL, "command": EVIL, "good": EVIL}
    page = visit(rows, phases_of(rows), conclusions, verdict)
    drawn(page, "matrix")
    drawn(page, "bisection")
    page.locator("#cells tbody tr").first.click()
    assert EVIL in page.locator("dialog[open]").inner_text()
    assert EVIL in page.locator("#summary").inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("[...document.scripts].some(s => s.textContent === 'alert(1)')") is False


def test_what_is_not_ok_is_seen(visit) -> None:
    rows = ten()
    rows.loc[1, ["status", "reason"]] = ["over_memory", "above the cap of 2 GB"]
    rows.loc[3, ["status", "reason"]] = ["failed", "boom"]
    rows.loc[3, ["peak_bytes", "peak_delta_bytes"]] = None
    page = visit(rows)
    drawn(page, "matrix")
    texts = page.locator("#matrix svg text").all_text_contents()
    assert "failed" in texts
    assert any(text.startswith("≥ ") for text in texts)
    assert [t for t in column(page, "peak, MB") if t.startswith("≥ ")] == ["≥ 8.0"]
    page.locator("#summary .status.failed").click()
    assert column(page, "status") == ["failed"]


def test_before_and_after_has_the_change_or_why_there_is_none(visit) -> None:
    rows = rows_of("commit=v1.4.1,v1.5.1", "iterations=1")
    peaks = {"export": (48_300_000, 48.3), "encode": (10_000_000, 10), "decode": (10_000_000, 10)}
    before, after = rows["exporter"].eq("v1.4.1"), rows["exporter"].eq("v1.5.1")
    rows.loc[before, "peak_delta_bytes"] = 66_600_000
    rows.loc[after, "peak_delta_bytes"] = [peaks[method][0] for method in rows["method"][after]]
    rows["torch"] = "2.13.0"
    rows.loc[after & rows["method"].eq("decode"), "torch"] = "2.14.0"
    page = visit(rows)
    drawn(page, "revisions")
    texts = page.locator("#revisions svg text").all_text_contents()
    assert "48.3 MB (−27.5%)" in texts
    assert "10.0 MB (torch differ)" in texts


def test_figures_known_as_totals_alone_are_what_is_drawn_first(visit) -> None:
    rows = rows_of("commit=v1.4.1,v1.5.1", "iterations=1")
    rows[["peak_delta_bytes", "baseline_bytes"]] = None
    page = visit(rows)
    for section in ("matrix", "revisions"):
        drawn(page, section)
        chosen = page.locator(f"#{section} select").last.evaluate("(s) => s.value")
        assert chosen == "peak_bytes"


def test_rss_against_time_is_drawn_with_its_phases(visit) -> None:
    rows = rows_of("method=encode,decode", "iterations=1,20")
    page = visit(rows, timeline=timeline_of(rows))
    drawn(page, "timeline", 2)
    texts = page.locator("#timeline svg text").all_text_contents()
    assert "loop" in texts
    assert "RSS, MB" in texts


def test_conclusions_lead_to_their_cells(visit) -> None:
    rows = ten()
    said = Conclusion("rules_out", "precision", "Not precision.", tuple(rows["cell_key"][:3]))
    page = visit(rows, None, [said])
    assert page.locator("#summary h3").all_text_contents() == ["Ruled out"]
    page.get_by_role("button", name="3 cells").click()
    assert page.locator("#filters output").text_content() == "3 of 8 cells"


def test_a_bisection_alone_is_a_page(visit) -> None:
    page = visit(rows_of().head(0), None, (), VERDICT)
    drawn(page, "bisection")
    assert page.locator("#cells").count() == 0
    assert "4753d75e2b" in page.locator("#bisection h2").inner_text()
    page.locator("#bisection select").select_option("near")
    drawn(page, "bisection")


def test_plots_are_saved_as_svg_and_png(visit) -> None:
    page = visit(ten())
    drawn(page, "matrix")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.locator("#matrix").get_by_role("button", name=f"Save {kind}").click()
        assert Path(download.value.path()).read_bytes().startswith(start)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_button(visit, scheme: str) -> None:
    page = visit(ten(), color_scheme=scheme)
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = "rgb(20, 23, 27)"
    assert (page.evaluate(paper) == dark) is (scheme == "dark")
    page.locator("#theme").click()
    assert (page.evaluate(paper) == dark) is (scheme == "light")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_screen(visit, width: int) -> None:
    rows = rows_of("model=tiny,large-v3", "precision=fp32,bf16,int8", "commit=v1.4.1,v1.5.1")
    rows["model"] += "[n_audio_layer=1][n_text_layer=1]"
    page = visit(rows, phases_of(rows), (), VERDICT, viewport={"width": width, "height": 800})
    for section in ("matrix", "revisions", "phases", "iterations", "bisection"):
        drawn(page, section)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
