"""How much several measurements, taken side by side, tell together about the culprit. Pure.

Let C be the culprit and Y_S the outcomes of the measurements S: each says "before" or "after", and
is wrong with a probability e of its own, independently given C. What they tell together is

    I(C; Y_S) = H(Y_S) - H(Y_S | C) = H(Y_S) - sum over S of h(e)

with the joint entropy H(Y_S) under the posterior, not the sum of each one's: two measurements of
neighbouring commits give nearly the same answer, and are worth little more than one (Kirsch, van
Amersfoort and Gal 2019, BatchBALD, equation 8). S is grown one by one, each for what it adds to
those before it: since the outcomes are independent given C, what is told is submodular, and
the greedy choice tells at least 1 - 1/e of what the best choice does (Krause and Guestrin 2005;
Nemhauser, Wolsey and Fisher 1978). Then each is moved to where it adds most beside all the
others, as long as that adds something.
"""

from __future__ import annotations

from bisect.problem import Floats
from dataclasses import dataclass

import numpy as np

_NEGLIGIBLE = 1e-6
"""Outcomes less probable than this are left out: together they hold less than a search can use."""


@dataclass(frozen=True, eq=False)
class Joint:
    """The outcomes of the measurements chosen so far, and the culprit, under the posterior.

    Attributes:
        after: for each possible outcome (rows) and revision i (columns), the probability of that
            outcome together with "i has the level after".
        total: the probability of each outcome.
    """

    after: Floats
    total: Floats

    @classmethod
    def nothing_chosen(cls, chance_after: Floats) -> Joint:
        """Begin with the probability, for each revision, that it has the level after."""
        return cls(chance_after[None, :], np.ones(1))

    def gain(self, error: float) -> Floats:
        """Return the bits that one more measurement, of each revision, would add.

        Args:
            error: the probability that its outcome is wrong.
        """
        says_after = self._says_after(error)
        entropy = _plogp(says_after) + _plogp(self.total[:, None] - says_after)
        return np.asarray(entropy.sum(axis=0) - _plogp(self.total).sum() - binary_entropy(error))

    def with_one_more(self, index: int, error: float) -> Joint:
        """Return the outcomes with the measurement of a revision among them.

        `after` of a row is a running sum over the culprits, and those at or before `index` are
        the ones that give it the level after.
        """
        at = self.after[:, index : index + 1]
        early = np.minimum(self.after, at)  # culprits at or before both
        late = self.after - early  # culprits after `index`
        after = np.concatenate(
            [(1 - error) * early + error * late, error * early + (1 - error) * late]
        )
        says_after = self._says_after(error)[:, index]
        total = np.concatenate([says_after, self.total - says_after])
        kept = total > _NEGLIGIBLE
        return Joint(after[kept], total[kept])

    def _says_after(self, error: float) -> Floats:
        """Return the probability of each outcome together with "after" said of a revision."""
        return np.asarray((1 - error) * self.after + error * (self.total[:, None] - self.after))


def binary_entropy(error: float) -> float:
    """Return h(e): the bits of an answer that is wrong with probability `error`.

    >>> binary_entropy(0.5), binary_entropy(0.0)
    (1.0, 0.0)
    """
    return float(_plogp(np.array([error, 1 - error])).sum())


def _plogp(p: Floats) -> Floats:
    p = np.maximum(p, 0.0)  # rounding
    return np.asarray(-p * np.log2(np.where(p > 0, p, 1.0)))
