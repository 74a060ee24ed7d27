"""Which torch and which ExecuTorch this process runs on."""

from __future__ import annotations


def versions() -> dict[str, str]:
    """Return ``torch``, ``executorch`` and ``executorch_sha`` (empty when the wheel has none)."""
    import torch
    from executorch import version

    return {
        "torch": str(torch.__version__),
        "executorch": str(version.__version__),
        "executorch_sha": getattr(version, "git_version", None) or "",
    }
