"""Texts of others in our Markdown: shown as they are, by a parser that is not ours."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench.report.grid import Grid, inline, markdown, plain

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MARKUP = (
    *("*a*", "**a**", "_a_", "__a__", "~~a~~", "`a`", "``` a", "<b>", "<!-- a", "&lt;"),
    *("[a](http://b)", "![a](http://b)", "[a][b]", "[a]: http://b", "[^a]", "https://a/b_c_d"),
    *("a | b", "\\", "\\*a*", "a\\|b", "main~1 main~2", "a\nb", "a\r# b", "a\r\n\r\n- b"),
    *("# a", "> a", "- a", "+ a", "* a", "1. a", "1) a", "---", "***", "===", "~~~"),
    *("    a", "- [ ] a"),
)
TEXTS = st.lists(
    st.one_of(st.sampled_from(MARKUP), st.text("ab1 \\`*_~[]()<>&|#@!+-.:^=\n\r\t", max_size=6))
).map("".join)


def shown(source: str) -> list[str]:
    """Return what every paragraph and cell shows; fail if there is any markup in one."""
    found = []
    for token in PARSER.parse(source):
        if token.type == "inline":
            kinds = {child.type for child in token.children}
            marks = [c.content for c in token.children if c.type == "html_inline"]
            assert kinds <= {"text", "text_special", "html_inline"} and set(marks) <= {"<!-- -->"}
            found.append("".join(c.content for c in token.children if c.type != "html_inline"))
        assert token.type in ("inline", "list_item_open", "list_item_close") or re.fullmatch(
            "(paragraph|bullet_list|table|thead|tbody|tr|th|td)_(open|close)", token.type
        )
    return found


def words(text: str) -> list[str]:
    return text.replace("`", "'").split()


@pytest.mark.parametrize("around", ["", "- "])
@given(TEXTS)
@example("![a](http://b)")
def test_a_line_shows_any_text_as_it_is(around: str, text: str) -> None:
    assert [w for line in shown(around + plain(text)) for w in line.split()] == words(text)


@given(TEXTS, TEXTS)
def test_a_cell_shows_any_text_as_it_is(one: str, other: str) -> None:
    cells = shown(markdown(Grid(("a", "b"), ((one, other), ("x", "y")))))
    assert [cell.split() for cell in cells] == [
        ["a"],
        ["b"],
        words(one),
        words(other),
        ["x"],
        ["y"],
    ]


@pytest.mark.parametrize("text", ["@user", "a@user", "#12", "pytorch/executorch#12", "GH-12"])
def test_nobody_is_called_and_no_thread_referred_to(text: str) -> None:
    assert re.search(r"[@#-]<!-- -->\w", plain(text)) and shown(plain(text)) == [text]


@pytest.mark.parametrize(
    "text",
    ["tiny[n_vocab=2000]", "kv_cache_max", "+12.0 MB", "-32%", "1.5 GB", "a - b", "f(x) = 2!"],
)
def test_what_is_no_markup_stays_readable(text: str) -> None:
    assert plain(text) == inline(text) == text
