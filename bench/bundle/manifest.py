"""``manifest.json``: what is in a bundle, with checksums. Pure but for reading."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.errors import RequestError

NAME = "manifest.json"
SUMS = "SHA256SUMS"
FORMAT = 1
OUTPUT_SHA = (
    "first 16 hexadecimal digits of the SHA-256 over, for each output in turn, the text "
    "dtype[shape] such as float32[1, 1500, 384] and its bytes"
)
"""How ``output_sha`` is made: see et_worker/outputs.py."""


def sums(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of every file that a manifest names, by the file's name."""
    program = manifest["program"]
    inputs = [each for method in manifest["methods"].values() for each in method["inputs"]]
    return {each["file"]: each["sha256"] for each in (program, *inputs)}


def sums_text(manifest: Mapping[str, Any]) -> str:
    """Return them as ``sha256sum -c`` and ``shasum -a 256 -c`` read them."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sums(manifest).items())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a bundle, and check all its files against it.

    Raises:
        RequestError: if it is no bundle, or a file is missing or another one.

    """
    try:
        manifest: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
        wanted = sums(manifest)
        if manifest["format"] != FORMAT:
            raise RequestError(f"{folder}: a bundle of format {manifest['format']}, not {FORMAT}")
    except OSError as error:
        raise RequestError(f"{folder / NAME}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(f"{folder / NAME} is no manifest of a bundle ({error!r})") from None
    for name, sha256 in wanted.items():
        if Path(name).name != name:
            raise RequestError(f"{folder / NAME}: {name!r} is no file of the bundle")
        found = _sha256(folder / name)
        if found != sha256:
            what = "is missing" if found is None else f"is another file than {sha256[:12]}"
            raise RequestError(f"{folder / name} {what}: the bundle is not whole")
    return manifest


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
