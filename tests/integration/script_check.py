"""What users' models are fed and compared by; runs inside a benchmarked environment.

``PYTHONPATH=bench/worker PYTHON -P script_check.py`` prints one line of JSON: by input of a model
that takes some of every kind, its fill, its smallest and its largest value; and how far a linear
layer is off from itself and from another one (``relative_error``).
"""

from __future__ import annotations

import json
from typing import Any

import torch
from et_worker.check import relative_error
from et_worker.inputs import make_inputs
from et_worker.models.largest import largest_inputs


class Mixed(torch.nn.Module):
    """Takes floats of every size, an index and a mask."""

    def forward(self, single: Any, half: Any, brain: Any, index: Any, mask: Any) -> Any:
        """Use them all."""
        return single + half + brain + index + mask


def main() -> dict[str, Any]:
    """Return what is said above."""
    shape = (4, 64)
    example = (
        *(torch.zeros(shape, dtype=t) for t in (torch.float32, torch.float16, torch.bfloat16)),
        torch.full(shape, 9),
        torch.zeros(shape, dtype=torch.bool),
    )
    specs = largest_inputs(torch.export.export(Mixed(), example, strict=False))
    made = make_inputs(specs, 0)
    report: dict[str, Any] = {
        spec.name: [spec.fill, float(value.float().min()), float(value.float().max())]
        for spec, value in zip(specs, made, strict=True)
    }
    layers = [torch.nn.Linear(64, 8, bias=False) for _ in range(2)]
    with torch.no_grad():
        one, other = ([layer(made[0])] for layer in layers)
    return report | {"same": relative_error(one, one), "other": relative_error(one, other)}


if __name__ == "__main__":
    print(json.dumps(main()))
