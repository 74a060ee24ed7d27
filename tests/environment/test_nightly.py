"""What an index holds of a day, and an environment of it. The wheels are made on the spot."""

import hashlib
import re
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.environment import Store, recipe_for
from bench.environment import nightly as nightly_module
from bench.environment.installer import pick_installer
from bench.environment.nightly import NightlyIndex, build_nightly, nightly_recipe
from bench.errors import BuildError, RequestError
from bench.revision import Revisions
from tests.environment.fakes import fake_environment
from tests.test_repository import Clone

DAY = date(2026, 8, 6)
VERSION_FILE = "__version__ = '{version}'\ngit_version: str = '{sha}'\n"


def write_wheel(folder, name, version, files, tag="py3-none-any"):
    """Write a wheel that pip and uv install."""
    info = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    path = folder / f"{name}-{version}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in files.items():
            wheel.writestr(place, text)
        record = "".join(f"{place},,\n" for place in [*files, f"{info}/RECORD"])
        wheel.writestr(f"{info}/RECORD", record)
    return path


def nightly(folder, day, sha, local="", tag="py3-none-any"):
    version = f"1.5.0.dev{day:%Y%m%d}{local}"
    content = {
        "executorch/version.py": VERSION_FILE.format(version=version, sha=sha),
        "executorch/exir/__init__.py": "",
    }
    return write_wheel(folder, "executorch", version, content, tag)


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    nightly(folder, DAY, "a" * 40, "+cu130")
    nightly(folder, DAY, "b" * 40, "+cpu")
    nightly(folder, DAY, "c" * 40, tag="cp27-none-any")
    nightly(folder, date(2026, 8, 5), "d" * 40)
    write_wheel(folder, "executorch", "1.4.1", {})
    write_wheel(folder, "torch", "2.14.0.dev20260806", {})
    (folder / "executorch-junk.whl").touch()
    return folder


def test_a_folder_gives_the_wheels_of_a_day_the_cpu_build_first(wheels, tmp_path):
    index = NightlyIndex(str(wheels), tmp_path / "cache")
    found = index.wheels(DAY)
    assert [w.version for w in found] == ["1.5.0.dev20260806+cpu", "1.5.0.dev20260806+cu130"]
    assert index.sha(found[0]) == "b" * 40
    assert index.wheels(date(2026, 8, 1)) == []


def test_a_wheel_that_does_not_say_its_commit_is_of_none(tmp_path):
    write_wheel(tmp_path / "w", "executorch", "1.5.0.dev20260806", {"executorch/x.py": ""})
    index = NightlyIndex(str(tmp_path / "w"), tmp_path / "cache")
    assert index.sha(index.wheels(DAY)[0]) is None


@pytest.mark.parametrize(
    "text", ["/nonexistent", "ext::sh", "ftp://example.org/x", "file:///x", "https://"]
)
def test_what_is_no_index_is_one_line(tmp_path, text):
    with pytest.raises(RequestError, match="nightly_index: "):
        NightlyIndex(text, tmp_path)


def answering(seen):
    """Answer as the server does, and take down who asked."""
    answer = SimpleHTTPRequestHandler.do_GET

    def do_get(handler):
        seen.append(handler.headers["Authorization"])
        answer(handler)

    return do_get


@pytest.fixture
def served(wheels, tmp_path):
    """The folder as a package index: a page of links with checksums."""
    site = tmp_path / "site" / "executorch"
    site.mkdir(parents=True)
    links = []
    for path in wheels.glob("executorch-1.5*.whl"):
        content = path.read_bytes()
        (site / path.name).write_bytes(content)
        address = path.name.replace("+", "%2B")
        links.append(f'<a href="{address}#sha256={hashlib.sha256(content).hexdigest()}">x</a>')
    (site / "index.html").write_text("\n".join(links))
    handler = partial(SimpleHTTPRequestHandler, directory=str(site.parent))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", site
    server.shutdown()
    server.server_close()


def test_an_address_is_read_and_its_wheels_are_fetched_once(served, tmp_path):
    address, site = served
    index = NightlyIndex(address, tmp_path / "cache")
    wheel = index.wheels(DAY)[0]
    assert index.sha(wheel) == "b" * 40
    (site / "executorch-1.5.0.dev20260806+cpu-py3-none-any.whl").unlink()
    assert NightlyIndex(address, tmp_path / "cache").sha(wheel) == "b" * 40


def test_a_wheel_that_is_not_what_its_index_says_is_refused(served, tmp_path):
    address, site = served
    index = NightlyIndex(f"{address}/", tmp_path / "cache")
    wheel = index.wheels(DAY)[0]
    (site / "executorch-1.5.0.dev20260806+cpu-py3-none-any.whl").write_bytes(b"other")
    with pytest.raises(BuildError, match="checksum"):
        index.file(wheel)
    assert not list((tmp_path / "cache").rglob("*.whl"))


def cut_short(handler):
    """Answer with less than was announced, as a connection that breaks does."""
    path = Path(handler.translate_path(handler.path))
    content = (path / "index.html" if path.is_dir() else path).read_bytes()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[:-10])


def with_a_page(handler):
    """Answer with a page, as a gateway does: whole, and no wheel."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"<html>log in first</html>")


@pytest.mark.parametrize("answer", [cut_short, with_a_page])
def test_what_is_no_whole_wheel_is_not_kept(served, tmp_path, monkeypatch, answer):
    """An index without checksums: the next try gets the wheel anew."""
    address, site = served
    page = site / "index.html"
    page.write_text(re.sub(r"#sha256=\w+", "", page.read_text()))
    index = NightlyIndex(address, tmp_path / "cache")
    wheel = index.wheels(DAY)[0]
    assert wheel.sha256 is None
    with monkeypatch.context() as broken:
        broken.setattr(SimpleHTTPRequestHandler, "do_GET", answer)
        with pytest.raises(BuildError) as caught:
            index.file(wheel)
    assert "\n" not in str(caught.value)
    assert [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()] == ["lock"]
    assert zipfile.ZipFile(index.file(wheel)).testzip() is None


def test_wheels_of_one_name_and_two_places_are_two(served, tmp_path):
    address, _site = served
    index = NightlyIndex(address, tmp_path / "cache")
    wheel = index.wheels(DAY)[0]
    other = replace(wheel, place=wheel.place.replace("127.0.0.1", "localhost"))
    assert index.file(wheel) != index.file(other)
    assert index.file(replace(wheel, sha256=None)) not in (index.file(wheel), index.file(other))


def test_whoever_fetches_at_once_gets_one_whole_file(served, tmp_path):
    address, _site = served
    wheel = NightlyIndex(address, tmp_path / "cache").wheels(DAY)[0]
    with ThreadPoolExecutor(8) as pool:
        indices = [NightlyIndex(address, tmp_path / "cache") for _ in range(8)]
        files = set(pool.map(lambda index: index.file(wheel), indices))
    (file,) = files
    assert zipfile.ZipFile(file).testzip() is None
    assert not list(file.parent.glob("new-*"))


@pytest.mark.parametrize("fragment", ["md5=0123", "egg=x", ""])
def test_only_a_sha256_is_taken_for_one(served, tmp_path, fragment):
    address, site = served
    page = site / "index.html"
    page.write_text(re.sub(r"sha256=\w+", fragment, page.read_text()))
    index = NightlyIndex(address, tmp_path / "cache")
    assert index.sha(index.wheels(DAY)[0]) == "b" * 40


def test_an_index_that_does_not_answer_is_one_line(tmp_path):
    index = NightlyIndex("http://127.0.0.1:1/x", tmp_path)
    with pytest.raises(BuildError, match="can't be read") as caught:
        index.wheels(DAY)
    assert "\n" not in str(caught.value)


def test_an_index_that_is_cut_short_is_one_line(served, tmp_path, monkeypatch):
    address, _site = served
    monkeypatch.setattr(SimpleHTTPRequestHandler, "do_GET", cut_short)
    with pytest.raises(BuildError, match=r"nightly_index: .* can't be read") as caught:
        NightlyIndex(address, tmp_path / "cache").wheels(DAY)
    assert "\n" not in str(caught.value)


def test_an_address_that_is_none_is_one_line(tmp_path):
    index = NightlyIndex("https://user:secret@example.org/x", tmp_path)
    with pytest.raises(BuildError, match="can't be read") as caught:
        index.wheels(DAY)
    assert "secret" not in str(caught.value).replace("'secret@example.org'", "")


def test_a_password_is_looked_up_where_pip_does(served, tmp_path, monkeypatch):
    address, _site = served
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    seen = []
    monkeypatch.setattr(SimpleHTTPRequestHandler, "do_GET", answering(seen))
    assert NightlyIndex(address, tmp_path / "cache").wheels(DAY)
    (tmp_path / "netrc").write_text("machine example.org login me password secret\n")
    assert NightlyIndex(address, tmp_path / "other").wheels(DAY)
    assert seen == ["Basic bWU6c2VjcmV0", None]


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_an_environment_is_built_of_a_nightly(wheels, tmp_path, monkeypatch, installer):
    write_wheel(tmp_path / "links", "torch", "0.0.1", {"torch/__init__.py": ""})
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    like = recipe_for("1.4.1", torch="0.0.1")
    fields = {**like.__dict__, "requirements": (), "without_dependencies": ("torch==0.0.1",)}
    monkeypatch.setattr(nightly_module, "recipe_for", lambda *_, **__: type(like)(**fields))
    index = NightlyIndex(str(wheels), tmp_path / "cache")
    recipe = nightly_recipe(index, index.wheels(DAY)[0], "0.0.1")
    chosen = pick_installer(installer)
    builders = {"nightly": lambda r, folder, say: build_nightly(r, folder, say, chosen)}
    environment = Store(tmp_path / "store", builders).ensure(recipe, print)
    assert (environment.rung, environment.torch) == ("nightly", "0.0.1")
    assert environment.executorch == "1.5.0.dev20260806+cpu"
    assert environment.git_sha == "b" * 40
    elsewhere = NightlyIndex(str(tmp_path / "links"), tmp_path / "other")
    again = nightly_recipe(elsewhere, index.wheels(DAY)[0], "0.0.1")
    assert again.build_key == recipe.build_key
    assert nightly_recipe(index, index.wheels(DAY)[1], "0.0.1").build_key != recipe.build_key


def test_the_runtime_of_a_commit_is_the_nightly_of_its_day(tmp_path):
    clone = Clone(tmp_path / "clone")
    first = clone.commit("first", exir__a="1")
    day = []
    for number in range(3):
        clone.day = DAY.day
        day.append(clone.commit(f"of the day {number}", exir__a=str(number + 2)))
    clone.git("switch", "--quiet", "-c", "nightly", "main~1")
    built = clone.commit(f"2026-08-06 nightly release ({day[1]})")
    wheels = tmp_path / "wheels"
    nightly(wheels, DAY, built)
    nightly(wheels, date(2026, 8, 7), "e" * 40)

    made = []

    def build(recipe, folder, say):
        made.append(recipe)
        return fake_environment(recipe, folder)

    store = Store(tmp_path / "cache" / "environments", dict.fromkeys(RUNGS, build))
    revisions = Revisions(store, str(clone.path), nightly_index=str(wheels))
    exact = revisions.get(day[1], needs="run")
    assert (exact.rung, exact.git_sha) == ("nightly", day[1])
    above = revisions.get(day[2], needs="run")
    assert (above.rung, above.git_sha) == ("overlay", day[2])
    assert above.why == f"Python of {day[2][:10]} over 1.5.0.dev20260806, made of {day[1][:10]}"
    assert made[-1].base.rung == "nightly"
    below = revisions.get(first, needs="run")
    assert below.rung == "wheel"
    assert "(no nightly of 2026-08-01 or the day before, made of an ancestor; " in below.why
    asked = Revisions(store, str(clone.path), nightly_index=str(wheels), rung="nightly")
    assert asked.get(day[1]).rung == "nightly"
    with pytest.raises(RequestError, match="there is no nightly for"):
        asked.get(first)


RUNGS = ("wheel", "package", "overlay", "nightly", "source")
