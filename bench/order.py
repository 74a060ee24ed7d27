"""The order in which a person names the levels of an axis. Pure."""

from __future__ import annotations

ORDER = (
    *(
        "tiny",
        "base",
        "small",
        "medium",
        "large-v3",
        "kquant",
        "kquant-parts",
        "muse",
        "script",
    ),
    *("fp32", "fp16", "bf16", "int8", "int4", "q6_k", "q5_k", "q4_k", "gguf"),
    *("auto", "xnnpack", "mlx", "portable"),
    *("export", "encode", "decode"),
    *("python", "native", "executor_runner"),
)
"""Small to large, by axis, for help and tables alike; other names (revisions) have no rank."""
