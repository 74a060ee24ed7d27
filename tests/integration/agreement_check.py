"""Compare a program's outputs with eager openai-whisper's; runs inside a benchmarked environment.

``PYTHONPATH=bench/worker PYTHON -P agreement_check.py REQUEST.json`` prints one line of JSON: for
each number of samples, and for the decoder, the largest absolute error. ``REQUEST.json`` has
``program``, ``model``, ``seed`` (of the exported weights) and
``samples`` (a list).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from et_worker.inputs import input_specs, make_inputs
from et_worker.models.whisper import random_model
from et_worker.runtime import load_extension, load_method, load_program
from whisper.audio import log_mel_spectrogram, pad_or_trim

_INPUT_SEED = 7  # not the weights' seed
_PROMPT = 5  # tokens of the decoder's first call; the rest come one by one


def run(method: Any, *inputs: Any) -> Any:
    """Execute a loaded method; return a copy of its first output."""
    method.set_inputs(list(inputs))
    method.execute()
    return method.get_outputs()[0].clone()


def error(one: Any, other: Any) -> float:
    """Return the largest absolute difference; shapes must be equal."""
    if one.shape != other.shape:
        raise ValueError(f"shapes differ: {list(one.shape)} and {list(other.shape)}")
    return float((one - other).abs().max())


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Return the errors, as ``{"encode": {samples: error}, "decode": {...}}``."""
    path = Path(request["program"])
    extension = load_extension()
    program, _ = load_program(extension, path, "mmap")
    encode = load_method(extension, program, "encode", path)
    decode = load_method(extension, program, "decode", path)
    model = random_model(request["model"], request["seed"])
    report: dict[str, Any] = {"encode": {}, "decode": {}}

    tokens_request = {"model": request["model"], "method": "decode", "tokens": _PROMPT + 3}
    tokens, positions, _ = make_inputs(input_specs(tokens_request), _INPUT_SEED)
    for samples in request["samples"]:
        waveform_request = {"model": request["model"], "method": "encode", "samples": samples}
        (waveform,) = make_inputs(input_specs(waveform_request), _INPUT_SEED)
        with torch.no_grad():
            mel = log_mel_spectrogram(pad_or_trim(waveform), model.dims.n_mels)
            expected = model.encoder(mel.unsqueeze(0))
            encoded = run(encode, waveform)
            report["encode"][str(samples)] = error(encoded, expected)
            # Both sides decode the same features, so that this is the decoder's own error.
            logits = model.decoder(tokens, expected)
        # A prompt at once, then token by token: the cache must give what one pass gives.
        steps = [slice(0, _PROMPT), *(slice(i, i + 1) for i in range(_PROMPT, len(positions)))]
        got = torch.cat(
            [
                run(decode, tokens[:, s].contiguous(), positions[s].contiguous(), expected)
                for s in steps
            ],
            dim=1,
        )
        report["decode"][str(samples)] = error(got, logits)
    return report


if __name__ == "__main__":
    print(json.dumps(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
