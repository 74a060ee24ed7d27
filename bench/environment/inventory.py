"""What an environment's package ``executorch`` consists of, by content."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.environment.model import Environment
from bench.environment.overlay_plan import is_mlx_generated, is_source, mlx_key
from bench.environment.tree import blob_id
from bench.environment.wheel import site_packages
from bench.errors import BuildError

MANIFEST = "manifest.json"
NATIVE_ID = "native"
"""Stands for the content of whatever no commit decides: the same on the same base."""
CACHE_FOLDER = "__pycache__"
_LAYOUT = 1


def package_of(environment: Environment) -> Path:
    """Give the folder of its package ``executorch``."""
    if environment.pythonpath:
        return environment.pythonpath[0] / "executorch"
    return site_packages(environment.bin.parent) / "executorch"


def inventory(environment: Environment) -> Mapping[str, str]:
    """Give the blob of every file of an environment's package, by its path there.

    Files that no commit decides have NATIVE_ID, and what MLX's generator made has the
    name of what it was made from. Counted once per environment: nobody changes it.
    """
    stored = read_manifest(environment.root)
    if stored is not None:
        return stored
    package = package_of(environment)
    files = {
        path: blob_id((package / path).read_bytes()) if is_source(path) else NATIVE_ID
        for path in sorted(_walk(package))
    }
    if not files:
        raise BuildError(f"there is no package executorch in {package}")
    generated = mlx_key(files)
    if generated:
        files |= {path: generated for path in files if is_mlx_generated(path)}
    write_manifest(environment.root, files)
    return files


def read_manifest(folder: Path) -> Mapping[str, str] | None:
    """Read what ``write_manifest`` wrote; None where nothing of use is there."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if content["layout"] == _LAYOUT:
            return dict(content["files"])
    return None


def write_manifest(folder: Path, files: Mapping[str, str]) -> None:
    """Keep the list of an environment's files, in one step."""
    temporary = folder / f"{MANIFEST}.{os.getpid()}"
    text = json.dumps({"layout": _LAYOUT, "files": files}, separators=(",", ":"))
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / MANIFEST)


def _walk(package: Path) -> Iterator[str]:
    start = len(str(package)) + 1
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name != CACHE_FOLDER]
        for name in names:
            yield f"{folder}/{name}"[start:]
