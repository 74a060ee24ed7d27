"""Our Whisper computes what openai-whisper computes, on the same weights, after XNNPACK."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = Path(__file__).with_name("agreement_check.py")
SAMPLES = (480000, 160000, 401)  # a full window; one to be padded; the shortest there is
TOLERANCE = 1e-3
TINY = {
    "family": "whisper",
    "n_mels": 80,
    "n_audio_ctx": 1500,
    "n_audio_state": 384,
    "n_audio_head": 6,
    "n_audio_layer": 4,
    "n_vocab": 51865,
    "n_text_ctx": 448,
    "n_text_state": 384,
    "n_text_head": 6,
    "n_text_layer": 4,
}


@pytest.fixture(scope="module")
def errors(environment: Any, tiny_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Largest absolute error per method and number of samples."""
    request = tmp_path_factory.mktemp("agreement") / "request.json"
    request.write_text(
        json.dumps(
            {"program": str(tiny_program), "model": TINY, "seed": 0, "samples": list(SAMPLES)}
        )
    )
    done = subprocess.run(
        [str(environment.python), "-P", str(CHECK), str(request)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "bench" / "worker")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("samples", SAMPLES)
@pytest.mark.parametrize("method", ["encode", "decode"])
def test_largest_error(errors: dict[str, dict[str, float]], method: str, samples: int) -> None:
    assert errors[method][str(samples)] < TOLERANCE
