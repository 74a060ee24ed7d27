from bisect.patch import excerpt

import pytest
from hypothesis import given
from hypothesis import strategies as st

PATCH = """\
diff --git a/exir/a.py b/exir/a.py
index 1..2 100644
--- a/exir/a.py
+++ b/exir/a.py
@@ -1,2 +1,2 @@ def f():
 same
--- a comment of SQL
+    new
@@ -9 +9,2 @@
+later
\\ No newline at end of file
diff --git a/exir/b.py b/exir/b.py
deleted file mode 100644
--- a/exir/b.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/lib.so b/lib.so
Binary files a/lib.so and b/lib.so differ
diff --git a/exir/c.py b/exir/c.py
old mode 100644
new mode 100755
"""


def test_hunks_stand_below_the_name_of_their_file() -> None:
    found = excerpt(PATCH)
    assert found.left_out == 0
    assert found.lines == (
        "+++ exir/a.py", "@@ -1,2 +1,2 @@ def f():", " same", "--- a comment of SQL",
        "+    new", "@@ -9 +9,2 @@", "+later", "\\ No newline at end of file",
        "+++ exir/b.py", "@@ -1 +0,0 @@", "-gone",
    )  # fmt: skip


def test_the_most_telling_files_come_first() -> None:
    found = excerpt(PATCH, ["exir/none.py", "exir/b.py"], most=3)
    assert found.lines == ("+++ exir/b.py", "@@ -1 +0,0 @@", "-gone")
    assert found.left_out == 3


@pytest.mark.parametrize(
    ("sign", "heading"),
    [
        ("+", ["--- /dev/null", "+++ b/n.py", "@@ -0,0 +1,5 @@"]),
        ("-", ["--- a/n.py", "+++ /dev/null", "@@ -1,5 +0,0 @@"]),
    ],
)
def test_a_whole_file_begins_at_its_code(sign: str, heading: list[str]) -> None:
    body = [sign + line for line in ("# licence", "import re", "", "def f():", "    pass")]
    found = excerpt("\n".join(["diff --git a/n.py b/n.py", *heading, *body]))
    assert found.lines == ("+++ n.py", f"{sign}def f():", f"{sign}    pass")
    assert found.left_out == 3


def test_comments_and_imports_come_last() -> None:
    noted = "diff --git a/c.py b/c.py\n--- a/c.py\n+++ b/c.py\n@@ -1 +1 @@\n-# a\n+import b\n"
    lines = excerpt(f"{noted}{PATCH}", ["c.py"]).lines
    assert lines[0] == "+++ exir/a.py"
    assert lines[-4:] == ("+++ c.py", "@@ -1 +1 @@", "-# a", "+import b")


def test_nothing_is_nothing() -> None:
    assert excerpt("") == excerpt("diff --git a/x b/x\nBinary files differ\n")
    assert excerpt("").lines == ()


def test_what_could_act_on_a_terminal_is_gone() -> None:
    patch = PATCH.replace("later", "\x1b[2J" + "\u202e" + "x" * 500)
    line = next(line for line in excerpt(patch).lines if "xx" in line)
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert len(line) <= 140


bodies = st.lists(
    st.tuples(st.sampled_from("+- "), st.text(st.sampled_from("ab+-@"), max_size=6)),
    min_size=1,
    max_size=40,
)
files = st.lists(st.tuples(st.sampled_from("abcde"), st.lists(bodies, min_size=1, max_size=3)))


@given(files, st.integers(0, 80), st.lists(st.sampled_from("abcde")))
def test_every_changed_line_is_shown_or_counted(made: object, most: int, first: list[str]) -> None:
    lines, total = [], 0
    for name, hunks in made:  # type: ignore[attr-defined]
        lines += [f"diff --git a/{name} b/{name}", f"--- a/{name}", f"+++ b/{name}"]
        for body in hunks:
            lines += ["@@ -1 +1 @@", *(sign + text for sign, text in body)]
            total += sum(sign != " " for sign, _ in body)
    found = excerpt("\n".join(lines) + "\n", first, most)
    assert len(found.lines) <= most
    shown = sum(
        line[:1] in ("+", "-") and line not in {f"+++ {name}" for name in "abcde"}
        for line in found.lines
    )
    assert shown + found.left_out == total
