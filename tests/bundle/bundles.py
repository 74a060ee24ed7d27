"""A bundle of the small program, as `nox -s bundle` writes one."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from bench.bundle.manifest import FORMAT, NAME

SMALL = Path(__file__).parents[1] / "pte" / "small.pte"


def make_folder(folder: Path) -> dict[str, Any]:
    """Write one; return its manifest."""
    folder.mkdir()
    shutil.copyfile(SMALL, folder / "small.pte")
    content = bytes(5 * 8)
    (folder / "look_up-0.bin").write_bytes(content)
    ids = {"name": "ids", "dtype": "int64", "shape": [5], "fill": "integers", "scale": 1.0}
    ids |= {"high": 10, "value": None, "file": "look_up-0.bin", "bytes": len(content)}
    manifest = {
        "format": FORMAT,
        "program": {"file": "small.pte", "sha256": sha256(SMALL.read_bytes())},
        "methods": {"look_up": {"inputs": [{**ids, "sha256": sha256(content)}]}},
    }
    (folder / NAME).write_text(json.dumps(manifest))
    return manifest


def sha256(content: bytes) -> str:
    """Return the checksum of a file's content."""
    return hashlib.sha256(content).hexdigest()
