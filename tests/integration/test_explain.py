"""memray, on the real ExecuTorch: who holds what a commit made the export hold."""

from __future__ import annotations

import shutil
from bisect.explain import Profiles
from bisect.request import load_bisect
from bisect.rig import Rig
from bisect.session import resolve_ends
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.environment import Environment, Store
from bench.results.record import RunFolder
from bench.revision import Revisions
from tests.integration.test_bisect import LINEAR, MEGABYTES, PROGRAM, History


def test_the_function_that_holds_more_is_named(
    cache: Path, environment: Environment, repository: Path, tmp_path: Path
) -> None:
    root = tmp_path / "executorch"
    shutil.copytree(repository, root, symlinks=True)
    made = History(root)
    made.commit("hold 150 MB", PROGRAM, append=MEGABYTES.format(n=1, size=150))
    words = [f"repo={root}", *LINEAR, "explain=memray"]
    words += [f"good={made.sha['release']}", f"bad={made.sha['hold 150 MB']}"]
    revisions = Revisions(Store(cache / "environments"))
    request = resolve_ends(load_bisect("export_peak.lower", words), revisions)
    folder = RunFolder.create(tmp_path / "runs")
    rig = Rig(request, revisions, folder, Console(quiet=True))
    names = (str(request.good), str(request.bad))
    listing = environment.packages.read_bytes()
    prober = rig.prober(
        "commits", names, request.bench, lambda name: (name, None), rig.listener(names)
    )
    profiles = Profiles(prober, folder, cache, "lower", print)

    found, phases = profiles.compare(*names)

    largest = found.largest()[0]
    assert largest.holder == ("to_edge_transform_and_lower", f"executorch/{PROGRAM}")
    assert largest.change == pytest.approx(150e6, rel=0.001)
    assert largest.through == "bytes_repeat"
    assert found.change == pytest.approx(150e6, rel=0.1)
    assert phases[1] == "lower"
    # It was neither a measurement nor part of any environment.
    assert not folder.records()
    assert environment.packages.read_bytes() == listing
    assert not list((environment.bin.parent / "lib").glob("*/site-packages/memray"))
    assert replace(profiles, replaying=True).compare(*names)[0] == found
