"""Real processes in the place of workers that need torch: they do in little what is asked."""

import sys
from dataclasses import replace
from pathlib import Path

from bench.environment import Environment
from bench.errors import BuildError
from bench.ladder import Needs
from tests.environment.fakes import FakeRecipe, fake_environment

_WORKER = """
import hashlib, json, os, signal, sys, time
request = json.load(open(sys.argv[1]))
events = open(request["events"], "a", buffering=1)
began = time.monotonic()
def say(event, **fields):
    line = {"event": event, "t": time.monotonic() - began, **fields}
    events.write(json.dumps(line) + "\\n")
task = request.get("method", request["task"])
with open(HERE + "/started", "a") as started: started.write(task + "\\n")
MB = 1_000_000
NEIGHBOURS = {}
say("baseline", rss_bytes=200 * MB, peak_bytes=200 * MB)
say("enter", phase="work")
def mischief():
MISCHIEF
mischief()
common = {"stored_dtype": "float32", "compute_dtype": "float32", "malloc": sorted(
    name for name in os.environ
    if name.upper().startswith("MALLOC") or "PRELOAD" in name or "TUN" in name or "INSERT" in name)}
if task == "export":
    content = json.dumps(request["model"], sort_keys=True).encode()
    open(request["program"], "wb").write(content)
    counts = {"delegates": 1, "delegated_nodes": 2, "undelegated_nodes": 0, "planned_bytes": 3,
              "undelegated_ops": {}}
    say("result", peak_bytes=300 * MB, pte_bytes=len(content), methods={"encode": counts},
        neighbours=NEIGHBOURS, pte_sha256=hashlib.sha256(content).hexdigest(), **common)
elif task == "check":
    open(request["program"], "rb").read()
    say("result", errors={"encode": 1e-7})
else:
    open(request["program"], "rb").read()
    for count in request["marks"]:
        say("mark", iterations=count, peak_bytes=250 * MB, load_rss_bytes=220 * MB,
            first_peak_bytes=250 * MB, rss_bytes=230 * MB, exec_median_s=0.1)
    say("result", peak_bytes=250 * MB, load_mode="mmap", output_sha="abc", **common)
"""


class Workers:
    """Gives one environment for every revision, whose Python is such a worker.

    Args:
        root: an empty folder.
        mischief: Python that each worker runs first; ``task`` is export, encode or decode.

    """

    def __init__(self, root: Path, mischief: str = "pass") -> None:
        self.root = root
        self.unbuildable: set[str] = set()
        self.asked: list[tuple[str, Needs]] = []
        environment = fake_environment(FakeRecipe(), root)
        self.behave(mischief)
        python = root / "worker"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} {root}/worker.py "$4"\n')
        python.chmod(0o755)
        self.environment = replace(environment, python=python)

    def behave(self, mischief: str) -> None:
        """Let workers do something else from now on."""
        body = "\n".join(f"    {line}" for line in mischief.splitlines())
        source = _WORKER.replace("MISCHIEF", body)
        (self.root / "worker.py").write_text(f"HERE = {str(self.root)!r}\n{source}")

    @property
    def started(self) -> list[str]:
        """What the workers that were started were to do, in order."""
        path = self.root / "started"
        return path.read_text().split() if path.exists() else []

    def get(self, revision: str, *, needs: Needs) -> Environment:
        """Give the environment, as ``bench.revision.Revisions`` does."""
        self.asked.append((revision, needs))
        if revision in self.unbuildable:
            raise BuildError(f"no compiler for {revision}")
        return self.environment


class Silent:
    """A progress that nobody sees."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.lines: list[str] = []

    def begin(self, label: str, left_s: float) -> None:
        """Note a job that begins."""

    def end(self, line: str) -> None:
        """Note a job that ends."""
        self.lines.append(line)

    def arrived(self, line: str) -> None:
        """Note a job that ended elsewhere."""
        self.lines.append(line)

    def phase(self, name: str) -> None:
        """Note a phase."""
        self.phases.append(name)

    def say(self, line: str) -> None:
        """Note a line."""
        self.lines.append(line)
