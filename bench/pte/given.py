"""From ``pte=``, ``method=`` and ``inputs=`` to what is run of programs from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.bundle.manifest import NAME, read_manifest
from bench.errors import RequestError, choices
from bench.place import expanded
from bench.pte.file import ProgramFile, read_program
from bench.pte.inputs import Size, parse_sizes, specs
from bench.values import parse_list

_SPEC = ("name", "dtype", "shape", "fill", "scale", "high", "value")
"""Of an input in a manifest, what a worker makes it from (et_worker/inputs.py)."""
EXPORTER = "elsewhere"
"""What the rows of such a program say of its exporter."""
_DECIDED = (
    *("model", "script", "gguf", "precision", "backend", "exporter", "samples", "max_tokens"),
    *("check", "steps", "memprofile"),
)


@dataclass(frozen=True)
class Given:
    """A program from elsewhere, and the methods of it that are asked for."""

    program: ProgramFile
    label: str
    """Stands where the name of a model would."""
    inputs: Mapping[str, list[dict[str, Any]] | str]
    """By method what the worker makes its inputs from, or why it can't."""

    @property
    def described(self) -> dict[str, Any]:
        """Say which file it is, and what each of its methods is fed."""
        return {
            "pte": str(self.program.path),
            "pte_sha256": self.program.sha256,
            "inputs": dict(self.inputs),
        }

    def largest(self, method: str) -> bool:
        """Tell whether a method is fed the largest sizes that its metadata allows."""
        found, own = self.program.method(method), self.inputs.get(method)
        most = specs(found, ()) if found else own
        if isinstance(most, str) or not isinstance(own, list) or most is None:
            return True  # it is not run, for another reason
        return [each["shape"] for each in most] == [each["shape"] for each in own]

    def backends(self, method: str) -> list[str]:
        """Return the ids of the backends that a method is delegated to."""
        found = self.program.method(method)
        return list(found.backends) if found else []


def check_words(given: Mapping[str, str]) -> bool:
    """Tell whether programs from elsewhere are asked for.

    Raises:
        RequestError: if with them, or without them, a word is given that has no meaning then.

    """
    if "pte" not in given:
        if "inputs" in given:
            raise RequestError("inputs: goes with pte=; our own models know what they are fed")
        return False
    for key in given:
        if key.partition(".")[0] in _DECIDED:
            raise RequestError(f"{key}: does not go with pte=, a program that is made already")
    return True


def give(pte: str, method: str | None, inputs: str | None) -> tuple[Given, ...]:
    """Read the programs and settle on their methods and inputs.

    Args:
        pte: paths of programs, or of the folders of bundles, a comma list.
        method: methods, a comma list; None for all that each file has.
        inputs: sizes that differ from the largest, see :func:`bench.pte.parse_sizes`.

    Raises:
        RequestError: if a file is no program, or no file has a method or an input asked for.

    """
    found = [_read(path) for path in parse_list("pte", pte)]
    bundled = {program.sha256: own for program, own in found}
    programs = list({program.sha256: program for program, _ in found}.values())
    sizes = parse_sizes(inputs) if inputs else ()
    known = list(dict.fromkeys(m.name for program in programs for m in program.methods))
    asked = parse_list("method", method) if method else None
    for name in asked or ():
        if name not in known:
            raise choices(f"method of {programs[0].path.name}", name, known)
    for size in sizes:
        if size.method not in (asked or known):
            raise choices("inputs: method", size.method, asked or known)
    names = _labels(programs)
    return tuple(
        Given(program, label, _inputs(program, asked, sizes, bundled[program.sha256]))
        for program, label in zip(programs, names, strict=True)
    )


def _read(text: str) -> tuple[ProgramFile, Mapping[str, list[dict[str, Any]]]]:
    """Read a program; of a bundle's folder, with the inputs that it has for each method."""
    folder = expanded(text, "pte")
    if not (folder / NAME).is_file():
        return read_program(text), {}
    manifest = read_manifest(folder)
    inputs = {
        method: [{key: each[key] for key in _SPEC} for each in content["inputs"]]
        for method, content in manifest["methods"].items()
    }
    return read_program(str(folder / manifest["program"]["file"])), inputs


def _inputs(
    program: ProgramFile,
    asked: Sequence[str] | None,
    sizes: Sequence[Size],
    bundled: Mapping[str, list[dict[str, Any]]],
) -> dict[str, list[dict[str, Any]] | str]:
    found: dict[str, list[dict[str, Any]] | str] = {}
    for name in asked or [method.name for method in program.methods]:
        method = program.method(name)
        if method is None:
            has = ", ".join(method.name for method in program.methods)
            found[name] = f"{program.path.name} has no method {name} (it has {has})"
        elif name in bundled and name not in {size.method for size in sizes}:
            found[name] = bundled[name]
        else:
            found[name] = specs(method, sizes)
    return found


def _labels(programs: Sequence[ProgramFile]) -> list[str]:
    """Name each program by its file, and by its hash too where files are called alike."""
    stems = Counter(program.path.stem for program in programs)
    return [
        p.path.stem if stems[p.path.stem] == 1 else f"{p.path.stem}@{p.sha256[:8]}"
        for p in programs
    ]
