"""From a matrix to the sentences that it supports: what it rules out, what it finds, what is open.

Each rule looks only at cells that differ in what it is about and in nothing else, and says
nothing where there are none. Formulas stand at the top of each module.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.analysis.accumulation import accumulation
from bench.analysis.conclusion import Conclusion
from bench.analysis.design import design
from bench.analysis.effects import effects
from bench.analysis.family import outliers
from bench.analysis.interactions import interactions
from bench.analysis.observations import last_marks, observe
from bench.analysis.program import program
from bench.analysis.shares import method, precision

_ORDER = ("rules_out", "finding", "open")


def attribute(table: pd.DataFrame) -> list[Conclusion]:
    """Return all conclusions of one table, what is ruled out first.

    Args:
        table: rows, with the columns of :data:`bench.analysis.cells.COLUMNS`.

    """
    marks = observe(table)
    found = last_marks(marks)
    said = [
        *precision(found),
        *accumulation(marks),
        *method(found),
        *program(found),
        *outliers(found),
        *effects(found),
        *interactions(found),
        *design(marks, table),
    ]
    return sorted(said, key=lambda one: _ORDER.index(one.kind))


def across(tables: Sequence[pd.DataFrame]) -> list[Conclusion]:
    """Return what only several tables together say: of one program in several places."""
    together = pd.concat(list(tables), ignore_index=True)
    each = {said.text for table in tables for said in program(last_marks(observe(table)))}
    found = program(last_marks(observe(together)))
    return [said for said in found if said.text not in each]
