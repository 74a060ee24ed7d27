from bisect.relevance import files_read, relevant


def read(*files: str) -> dict[str, object]:
    return {"events": [{"event": "trace", "files": list(files), "native": []}]}


def test_what_was_read_is_named_by_its_place_in_the_repository() -> None:
    found = files_read([read("exir/a.py", "version.py"), read("exir/_serialize/program.fbs")])
    assert found == {"exir/a.py", "schema/program.fbs"}


def test_generated_files_stand_for_what_they_are_made_from() -> None:
    found = files_read([read("backends/mlx/serialization/_generated/Op.py")])
    assert found == {
        "backends/mlx/serialization/generate.py",
        "backends/mlx/serialization/schema.fbs",
    }


def test_a_run_depends_on_what_its_export_read() -> None:
    run = {"events": [], "program": {"trace": read("exir/a.py")["events"]}}
    assert files_read([run]) == {"exir/a.py"}


def test_commits_that_touch_what_was_read() -> None:
    changes = {
        "a": ("docs/x.md",),
        "b": ("exir/a.py", "docs/x.md"),
        "c": (),
        "d": ("src/executorch/new",),
        "e": ("exir/a.py.orig", "exir/aa.py"),
    }
    assert relevant(changes, list("abcde"), {"exir/a.py"}) == [2, 4]
