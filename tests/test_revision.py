"""What a person may name, what it is called then, and what is built for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.config import load
from bench.environment import Store
from bench.errors import BuildError, EtPeakError, Exit, RequestError
from bench.revision import Revisions
from bench.revision import provider as provider_module
from tests.environment.fakes import fake_environment
from tests.test_repository import Clone


@pytest.fixture
def clone(tmp_path):
    """Two releases' tags and four commits after the second."""
    made = Clone(tmp_path / "clone")
    (made.path / "version.txt").write_text("1.5.0\n")
    made.commit("first", exir__a="1")
    package = made.path / "src" / "executorch"
    package.mkdir(parents=True)
    (package / "exir").symlink_to("../../exir")
    made.commit("layout")
    for release in ("1.3.1", "1.4.1"):
        made.commit(f"before {release}", exir__a=release)
        made.git("switch", "--quiet", "-c", f"release/{release}")
        made.commit(f"release {release}", exir__r=release)
        made.git("tag", f"v{release}")
        made.git("switch", "--quiet", "main")
    made.shas = [made.commit(f"commit {n}", exir__b=str(n)) for n in range(4)]
    return made


class Builds:
    """Builders of every rung, which cost nothing and remember what they were asked for."""

    def __init__(self):
        self.recipes = []
        self.broken = {}

    def __call__(self, recipe, folder, say):
        self.recipes.append(recipe)
        if recipe.label in self.broken:
            raise BuildError(self.broken[recipe.label])
        made = fake_environment(recipe, folder)
        if recipe.rung == "package":
            package = folder / "venv/lib/python3.11/site-packages/executorch/exir"
            package.mkdir(parents=True)
            (package / "a.py").write_text(recipe.label)
        return replace(made, git_sha="f" * 40, why=recipe.why)

    @property
    def made(self):
        return [(recipe.rung, recipe.label) for recipe in self.recipes]


RUNGS = ("wheel", "package", "overlay", "nightly", "source")


@pytest.fixture
def builds():
    return Builds()


@pytest.fixture
def store(tmp_path, builds):
    return Store(tmp_path / "cache" / "environments", dict.fromkeys(RUNGS, builds))


@pytest.fixture
def probed(monkeypatch):
    """The bases that imports were tried over, and what is to fail."""

    def probe(environment, modules):
        probe.asked.append(environment.why)
        probe.modules = modules
        return next((how for base, how in probe.failing.items() if base in environment.why), {})

    probe.asked, probe.failing = [], {}
    monkeypatch.setattr(provider_module, "probe", probe)
    return probe


@pytest.fixture
def revisions(store, clone, probed):
    return Revisions(store, str(clone.path))


TAGS = ("v1.3.1", "v1.4.1")


@pytest.mark.parametrize("gone", [(), TAGS[:1], TAGS[1:], TAGS])
def test_a_base_is_said_to_be_chosen_as_it_was(store, clone, probed, gone):
    for tag in gone:
        clone.git("tag", "--delete", tag)
    why = Revisions(store, str(clone.path)).get("main").why
    if gone == TAGS:
        assert "over 1.5.1, chosen as the newest, its repository knowing no" in why
        return
    base, unknown = ("1.3.1", "1.4.1, 1.5.1") if TAGS[1] in gone else ("1.4.1", "1.5.1")
    assert f"over {base}, chosen by its branch point, that of {unknown} being unknown" in why


def test_what_a_moving_name_means_is_asked_once(store, clone, probed):
    clone.git("config", "uploadpack.allowFilter", "true")
    revisions = Revisions(store, official=clone.path.as_uri())
    first = revisions.resolve_all(load(["commit=main"])).exporters
    clone.commit("later", exir__e="1")
    assert revisions.resolve_all(load(["commit=main", "method=export"])).exporters == first
    anew = Revisions(store, official=clone.path.as_uri())
    assert anew.resolve_all(load(["commit=main"])).exporters != first


def test_an_index_out_of_reach_is_no_fault_of_a_revision(store, clone):
    words = ["commit=main", "nightly_index=http://127.0.0.1:1/x", "method=encode"]
    with pytest.raises(EtPeakError, match=r"nightly_index: .* can't be read") as caught:
        Revisions(store).resolve_all(request(clone, *words))
    assert caught.value.exit_code == Exit.UNDECIDED


def refusal(revisions, *names):
    with pytest.raises(RequestError) as caught:
        for name in names:
            revisions.resolve(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_releases_need_no_repository(store, tmp_path):
    revisions = Revisions(store, official="https://localhost:1/none")
    for spelling in ("1.4.1", "v1.4.1"):
        found = revisions.resolve(spelling)
        assert (found.name, found.kind, found.release, found.sha) == (
            "v1.4.1", "release", "1.4.1", None,
        )  # fmt: skip
    assert not (tmp_path / "cache").exists()


def test_without_repository_and_network_a_commit_is_one_clear_line(store, tmp_path):
    revisions = Revisions(store, official="https://localhost:1/none")
    assert "pass repo=PATH" in refusal(revisions, "4753d75e2b")
    assert "did you mean v1.4.1?" in refusal(revisions, "v1.4.9")


def test_commits_are_called_by_their_sha_and_by_what_was_typed(revisions, clone):
    last = clone.shas[-1]
    assert revisions.resolve(last).name == last[:10]
    assert revisions.resolve(last[:8]).name == last[:10]
    assert revisions.resolve("main").name == f"main@{last[:10]}"
    assert revisions.resolve("HEAD~2").name == f"HEAD~2@{clone.shas[1][:10]}"
    for typed in ("main", "HEAD~2", "HEAD^", f"{last[:12]}~3"):  # a resumed run reads them back
        name = revisions.resolve(typed).name
        assert revisions.resolve(name).name == name
    found = revisions.resolve("main")
    assert (found.kind, found.sha, found.release) == ("commit", last, None)
    assert found.describe() == f"commit {last} of 2026-08-10"


def test_a_name_goes_on_meaning_what_it_meant(store, revisions, clone):
    name = revisions.resolve("main").name
    newer = clone.commit("newer", exir__n="1")
    again = Revisions(store, str(clone.path))
    assert again.resolve(name).sha == clone.shas[-1]
    assert again.resolve(name).name == name
    assert again.resolve("main").sha == newer


def test_a_release_has_the_sha_of_its_tag_where_a_repository_is_named(revisions, clone):
    assert revisions.resolve("v1.4.1").sha == clone.git("rev-parse", "v1.4.1^{commit}")
    assert revisions.resolve("v1.5.1").sha is None


def test_other_tags_are_commits_and_typing_errors_are_told(revisions, clone):
    clone.git("tag", "v1.4.1-rc1", "main~1")
    assert revisions.resolve("v1.4.1-rc1").sha == clone.shas[2]
    message = refusal(revisions, "v9.9.9")
    assert message.startswith("commit: 'v9.9.9' is not one of v1.0.0")
    assert "nor a tag of" in message


@pytest.mark.parametrize(
    "name",
    ["-x", "--upload-pack=x", "main:exir", "a..b", "a\nb", "a\0b", "./none", "~/none", "~3"],
)
def test_what_is_no_revision(revisions, name):
    assert refusal(revisions, name).startswith("commit: ")


def test_a_working_tree_is_named_with_its_state(store, clone, monkeypatch):
    monkeypatch.setenv("HOME", str(clone.path.parent))
    monkeypatch.chdir(clone.path)
    head = clone.shas[-1][:10]
    clean = Revisions(store).resolve("~/clone")
    assert (clean.name, clean.kind, clean.sha) == (
        f"~/clone@{head}", "working_tree", clone.shas[-1],
    )  # fmt: skip
    assert Revisions(store).resolve(".").name == clean.name
    assert Revisions(store).resolve("../clone/exir").name == clean.name
    names = {clean.name}
    for text in ("edited", "edited again"):
        (clone.path / "exir" / "a.py").write_text(text)
        dirty = Revisions(store).resolve("~/clone")
        assert dirty.name.startswith(f"~/clone@{head}-dirty.")
        assert (dirty.sha, dirty.head) == (None, clone.shas[-1])
        assert Revisions(store).resolve(dirty.name) == dirty
        names.add(dirty.name)
    assert len(names) == 3
    assert "has changed since" in refusal(Revisions(store), clean.name)


def test_a_branch_is_no_folder_and_a_folder_no_branch(revisions, clone, monkeypatch):
    monkeypatch.chdir(clone.path)
    assert revisions.resolve("release/1.4.1").kind == "commit"
    clone.git("branch", "exir", "main~1")
    assert revisions.resolve("exir").sha == clone.shas[2]
    assert revisions.resolve("./exir").kind == "working_tree"


def test_an_exporter_at_a_commit_is_an_overlay_on_the_nearest_release(revisions, clone, builds):
    environment = revisions.get("main")
    assert builds.made == [("wheel", "1.4.1"), ("overlay", clone.shas[-1][:10])]
    assert (environment.rung, environment.git_sha) == ("overlay", clone.shas[-1])
    assert (
        environment.why
        == f"Python of main@{clone.shas[-1][:10]} over 1.4.1, chosen by its branch point, that of "
        "1.5.1 being unknown to its repository (git fetch --tags)"
    )
    assert revisions.get(clone.shas[-1]).root == environment.root
    early = revisions.get(f"{clone.shas[0]}~2")
    assert "over 1.3.1" in early.why


def test_imports_are_tried_of_every_tree(revisions, clone, probed):
    clone.commit("docs only")
    for sha in (*clone.shas, "main"):
        revisions.get(sha)
    assert len(set(probed.asked)) == len(clone.shas)


@pytest.mark.parametrize("turned", [False, True])
def test_a_base_does_not_depend_on_what_was_asked_before(store, clone, probed, turned):
    first, second = clone.shas[:2]
    probed.failing = {f"Python of {second[:10]} over 1.4.1": {"": "ImportError: _C"}}
    revisions = Revisions(store, str(clone.path))
    whys = {sha: revisions.get(sha).why for sha in ((second, first) if turned else (first, second))}
    assert "over 1.4.1, chosen by" in whys[first]
    assert "over 1.5.1, chosen by" in whys[second]
    assert "(not over 1.4.1: ImportError: _C)" in whys[second]


def test_a_neighbour_is_taken_where_the_nearest_base_does_not_import(revisions, probed, builds):
    probed.failing = {"over 1.4.1": {"": "ImportError: _C"}}
    environment = revisions.get("main")
    assert "over 1.5.1" in environment.why
    assert "(not over 1.4.1: ImportError: _C)" in environment.why
    probed.failing = {"over": {"": "SyntaxError: x"}}
    with pytest.raises(BuildError, match=r"can't be imported over 1\.4\.1: SyntaxError"):
        revisions.get("main~1")
    asked = len(probed.asked)
    with pytest.raises(BuildError):
        revisions.get("main~1")
    assert len(probed.asked) == asked


def test_a_base_that_is_asked_for_is_not_tried(store, clone, probed):
    revisions = Revisions(store, str(clone.path), base="v1.5.1")
    assert "over 1.5.1, chosen as asked" in revisions.get("main").why
    assert not probed.asked


def test_a_runtime_at_a_commit_is_its_bases_and_says_so(revisions):
    environment = revisions.get("main", needs="run")
    assert environment.rung == "wheel"
    assert environment.why.startswith("stands in for main@")
    assert environment.git_sha == "f" * 40  # of what is run, not of what was named


def test_a_base_that_cannot_be_built_is_passed_over(revisions, builds):
    builds.broken = {"1.4.1": "no torch to be had"}
    assert "(not over 1.4.1: no torch to be had)" in revisions.get("main").why


def test_two_commits_that_differ_in_nothing_share_an_environment(revisions, clone, builds):
    clone.commit("docs only")
    one, two = revisions.get("main"), revisions.get("main~1")
    assert one.root == two.root
    assert one.git_sha != two.git_sha
    assert [rung for rung, _ in builds.made] == ["wheel", "overlay"]


def test_an_edited_working_tree_is_another_environment(store, clone, probed):
    first = Revisions(store).get(str(clone.path))
    (clone.path / "exir" / "a.py").write_text("edited")
    second = Revisions(store).get(str(clone.path))
    assert first.build_key != second.build_key
    assert (first.git_sha, second.git_sha) == (clone.shas[-1], None)


def request(clone, *words):
    return load([f"repo={clone.path}", "backend=xnnpack,mlx", *words])


def test_a_request_is_resolved_and_checked_before_anything_is_built(store, clone, probed, builds):
    revisions = Revisions(store)
    asked = request(clone, "commit=1.4.1,main,v1.4.1", "method=export,encode")
    resolved = revisions.resolve_all(asked)
    main = f"main@{clone.shas[-1][:10]}"
    assert resolved.exporters == ("v1.4.1", main)
    assert resolved.runtimes is None
    assert f"commit=v1.4.1,{main}" in resolved.overrides
    assert revisions.describe(main) == (
        f"exports by overlay of {main} on 1.4.1, torch 2.13.0: to be built; "
        "runs by wheel 1.4.1, torch 2.13.0: to be built"
    )
    assert not builds.recipes
    revisions.get(main)
    assert probed.modules[0] == "executorch.exir"
    assert {name.split(".")[2] for name in probed.modules[1:]} == {"xnnpack", "mlx"}
    for words in (["commit=main", "rung=wheel"], ["rung=nightly", "exporter=main"]):
        with pytest.raises(RequestError, match="rung: "):
            revisions.resolve_all(request(clone, *words))
    with pytest.raises(RequestError, match="base: '9' is not one of"):
        revisions.resolve_all(request(clone, "base=9"))


def test_a_crossing_holds_torch_constant(store, probed, builds):
    revisions = Revisions(store)
    words = ["exporter=v1.2.0,v1.4.1", "runtime=v1.4.1,v1.5.1", "method=encode"]
    revisions.resolve_all(load(words))
    assert revisions.describe("v1.2.0").startswith("overlay of v1.2.0 on 1.4.1, torch 2.13.0")
    environment = revisions.get("v1.2.0", needs="export")
    assert environment.why == "Python of v1.2.0 over 1.4.1, to hold torch 2.13.0 constant"
    assert ("package", "1.2.0") in builds.made
    assert ("wheel", "1.2.0") not in builds.made
    assert revisions.get("v1.4.1", needs="run").rung == "wheel"


def test_a_crossing_that_cannot_hold_torch_says_why(store, probed):
    revisions = Revisions(store)
    revisions.resolve_all(load(["exporter=v1.2.0", "runtime=v1.4.1", "method=encode"]))
    probed.failing = {"over 1.4.1": {"": "ImportError: gone"}}
    environment = revisions.get("v1.2.0")
    assert environment.rung == "wheel"
    assert environment.why == "published release, as over 1.4.1: ImportError: gone"


def test_a_release_over_another_needs_no_repository(store, probed, builds):
    revisions = Revisions(store, rung="overlay", base="v1.4.1")
    environment = revisions.get("v1.2.0")
    assert (environment.rung, environment.why) == (
        "overlay", "Python of v1.2.0 over 1.4.1, as asked",
    )  # fmt: skip
    assert revisions.get("v1.4.1").rung == "wheel"


def packages_word(tmp_path, text):
    path = tmp_path / "packages.txt"
    path.write_text(text)
    return f"packages={path}"


def test_recorded_packages_are_what_the_release_gets(store, clone, probed, builds, tmp_path):
    """Under a commit's overlay too; what they are no list of is as it always is."""
    word = packages_word(tmp_path, "executorch==1.4.1\nnumpy==2.4.6\n")
    revisions = Revisions(store)
    revisions.resolve_all(request(clone, "exporter=main", "runtime=v1.5.1,v1.4.1", word))
    lines = ("executorch==1.4.1", "numpy==2.4.6")
    revisions.get("v1.5.1", needs="run")
    revisions.get("v1.4.1", needs="run")
    revisions.get("main", needs="export")
    given = {recipe.label: recipe.packages for recipe in builds.recipes if recipe.rung == "wheel"}
    assert given == {"1.5.1": (), "1.4.1": lines}
    (overlay,) = [recipe for recipe in builds.recipes if recipe.rung == "overlay"]
    assert overlay.base.packages == lines


def test_an_environment_that_has_the_recorded_packages_is_taken(store, probed, builds, tmp_path):
    there = Revisions(store).get("v1.4.1", needs="run")
    word = packages_word(tmp_path, "executorch==1.4.1\n")
    asked = load(["commit=v1.4.1", word])
    alike = replace(asked.origin.packages, hash=there.packages_hash)
    revisions = Revisions(store)
    for packages, built in ((alike, 1), (asked.origin.packages, 2)):
        revisions.resolve_all(replace(asked, origin=replace(asked.origin, packages=packages)))
        revisions.get("v1.4.1", needs="run")
        assert len(builds.recipes) == built


def test_a_list_of_another_release_is_refused(store, probed, tmp_path):
    word = packages_word(tmp_path, "executorch==1.2.0\n")
    with pytest.raises(RequestError, match=r"a list of executorch 1\.2\.0, which nothing here"):
        Revisions(store).resolve_all(load(["commit=v1.4.1", word]))


def test_source_is_built_of_the_commit(store, clone, builds):
    revisions = Revisions(store, str(clone.path), rung="source")
    (clone.path / "torch_pin.py").write_text('TORCH_VERSION = "2.14.0"\n')
    sha = clone.commit("pin")
    assert revisions.get("main", needs="run").git_sha == sha
    (recipe,) = builds.recipes
    assert (recipe.rung, recipe.torch, recipe.sha) == ("source", "2.14.0", sha)
    assert Path(recipe.git_dir, "objects").is_dir()


def test_a_probe_tells_what_fails_and_remembers_what_does_not(store, builds, tmp_path):
    environment = Revisions(store).get("v1.4.1")
    assert provider_module.probe(environment, ["json", "csv"]) == {}
    environment.python.unlink()
    assert provider_module.probe(environment, ["json", "csv"]) == {}
    environment.python.symlink_to("/bin/false")
    assert provider_module.probe(environment, ["json"]) == {"": "exit code 1"}


def test_a_probe_names_the_modules_that_fail(store, builds):
    environment = Revisions(store).get("v1.4.1")
    failures = provider_module.probe(environment, ["json", "no.such"])
    assert failures == {"no.such": "ModuleNotFoundError: No module named 'no'"}
    failures = provider_module.probe(environment, ["no.such"])
    assert failures == {"": "ModuleNotFoundError: No module named 'no'"}
