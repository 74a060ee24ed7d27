"""What of a tree goes where; nothing is read from anywhere."""

import pytest

from bench.environment.overlay_plan import is_compiled, is_source, links, make_plan, may_decide
from bench.environment.tree import FileEntry, blob_id

LINKED = {"src/executorch/exir": "../../exir", "src/executorch/data": "../../data"}


def plan(files, linked=LINKED):
    """Plan for ``files``: a path's blob is its name in capitals."""
    tree = {path: FileEntry("100644", path.upper()) for path in files}
    tree |= {path: FileEntry("120000", f"to {target}") for path, target in linked.items()}
    targets = {entry.blob_id: entry.blob_id.removeprefix("to ") for entry in tree.values()}
    assert links(tree) == {f"to {target}" for target in linked.values()}
    return make_plan(tree, targets)


def test_files_of_some_kinds_go_where_the_links_lead():
    planned = plan(["exir/a.py", "exir/b/c.yaml", "exir/x.cpp", "other/d.py", "e.py"])
    assert planned.files == {"exir/a.py": "EXIR/A.PY", "exir/b/c.yaml": "EXIR/B/C.YAML"}


def test_a_file_that_is_no_link_is_taken_as_it_is():
    planned = plan(["src/executorch/tool.py", "src/README.md"])
    assert planned.files == {"tool.py": "SRC/EXECUTORCH/TOOL.PY"}


def test_links_may_lie_deeper_and_end_in_a_slash():
    linked = {"src/executorch/examples/nxp/more": "../../../../examples/nxp/more/"}
    planned = plan(["examples/nxp/more/a.py", "examples/nxp/b.py"], linked)
    assert list(planned.files) == ["examples/nxp/more/a.py"]


def test_links_below_are_followed_to_files_and_folders():
    linked = LINKED | {"exir/same.py": "sub/a.py", "exir/alias": "../models/muse-glimmer"}
    planned = plan(["exir/sub/a.py", "models/muse-glimmer/m.py"], linked)
    assert planned.files == {
        "exir/sub/a.py": "EXIR/SUB/A.PY",
        "exir/same.py": "EXIR/SUB/A.PY",
        "exir/alias/m.py": "MODELS/MUSE-GLIMMER/M.PY",
    }


def test_circles_and_ways_out_lead_nowhere():
    linked = LINKED | {
        "exir/up": "..",
        "exir/me.py": "me.py",
        "exir/out": "../../../etc",
        "exir/root.py": "/etc/passwd",
    }
    planned = plan(["exir/a.py"], linked)
    assert "exir/a.py" in planned.files
    assert "exir/me.py" not in planned.files
    assert not any("etc" in path or "root" in path for path in planned.files)


def test_schemas_are_copied_to_where_they_are_read():
    planned = plan(["schema/program.fbs", "devtools/bundled_program/schema/scalar_type.fbs"], {})
    assert planned.files == {
        "exir/_serialize/program.fbs": "SCHEMA/PROGRAM.FBS",
        "devtools/bundled_program/serialize/scalar_type.fbs": (
            "DEVTOOLS/BUNDLED_PROGRAM/SCHEMA/SCALAR_TYPE.FBS"
        ),
    }


def test_native_folders_and_other_repositories_stay():
    files = {
        "src/executorch/exir": FileEntry("120000", "exir"),
        "exir/json": FileEntry("160000", "commit"),
        "other": FileEntry("160000", "commit"),
    }
    planned = make_plan(files, {"exir": "../../exir"})
    assert planned.submodules == ("exir/json/",)
    assert planned.keeps("exir/json/json.py")
    assert planned.keeps("exir/_native.so")
    assert planned.keeps("data/bin/__init__.py")
    assert not planned.keeps("exir/json.py")
    assert not planned.keeps("backends/arm/vgf/shaders/a.spirv.b64")
    assert "data/bin/__init__.py" not in plan(["data/bin/__init__.py"]).files


def test_the_key_is_that_of_what_is_laid_over():
    key = plan(["exir/a.py", "README.md"]).key
    assert plan(["README.rst", "exir/a.cpp", "exir/a.py", "other/b.py"]).key == key
    assert plan(["exir/b.py"]).key != key
    other = make_plan(
        {"src/executorch/exir/a.py": FileEntry("100644", "another content")}, targets={}
    )
    assert other.key != key


def test_what_mlx_generates_is_named_after_what_it_is_made_from():
    folder = "src/executorch/backends/mlx/serialization"
    made_from = [f"{folder}/generate.py", f"{folder}/schema.fbs"]
    named = plan(made_from, {}).mlx_key
    assert named is not None
    assert plan([*made_from, f"{folder}/__init__.py"], {}).mlx_key == named
    assert plan(made_from[:1], {}).mlx_key is None
    # A release brings its own.
    assert plan([*made_from, f"{folder}/mlx_graph_schema.py"], {}).mlx_key is None


@pytest.mark.parametrize(
    ("path", "source", "compiled"),
    [
        ("exir/a.py", True, True),
        ("a.py", True, True),
        ("exir/test/a.py", True, False),
        ("exir/tests/b/a.py", True, False),
        ("exir/test.py", True, True),
        ("exir/a.pyi", True, False),
        ("exir/a.so", False, False),
        ("exir/a.glsl", False, False),
        ("backends/arm/vgf/shaders/a.glsl", True, False),
    ],
)
def test_kinds(path, source, compiled):
    assert is_source(path) == source
    assert is_compiled(path) == compiled


@pytest.mark.parametrize(
    "path",
    ["README.md", "exir/a.cpp", "exir/TARGETS.bzl", "docs/a.rst", ".ci/x.sh", "exir/a.md"],
)
def test_what_cannot_decide_an_overlay_leaves_its_key(path):
    assert not may_decide(path)
    assert plan(["exir/a.py", path]).key == plan(["exir/a.py"]).key


@pytest.mark.parametrize("path", ["exir/b.py", "exir/b.pyi", "src/executorch/b.py", "exir/b.yaml"])
def test_what_changes_the_key_of_an_overlay_may_decide_it(path):
    assert may_decide(path)
    assert plan(["exir/a.py", path]).key != plan(["exir/a.py"]).key


@pytest.mark.parametrize("path", ["version.txt", "third-party/fmt", "src/executorch/exir"])
def test_versions_links_and_submodules_may_decide_an_overlay(path):
    assert may_decide(path)


def test_a_blob_has_the_name_that_git_gives_it():
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
