"""Programs from elsewhere: what a ``.pte`` says of itself, and what its methods are to be fed."""

from __future__ import annotations

from bench.pte.file import ProgramFile, changed, read_program
from bench.pte.given import EXPORTER, Given, check_words, give
from bench.pte.inputs import specs

__all__ = [
    "EXPORTER",
    "Given",
    "ProgramFile",
    "changed",
    "check_words",
    "give",
    "read_program",
    "specs",
]
