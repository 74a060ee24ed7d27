"""Quantiles of Student's t, for every interval that is printed. Pure.

scipy is not needed for that: the distribution is the integral of cos^(df - 1) after substituting
x = sqrt(df) tan(angle).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=1024)
def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t, good to four digits for freedom >= 1.

    >>> round(t_quantile(0.975, 4), 3), round(t_quantile(0.975, 1e6), 3)
    (2.776, 1.96)
    """
    if not 0 < probability < 1 or freedom <= 0:
        raise ValueError(f"no quantile of {probability} at {freedom} degrees of freedom")
    # Beyond 40 standard normal deviations there is nothing to integrate.
    widest = math.atan(40 / math.sqrt(freedom)) if freedom > 100 else math.pi / 2
    angles = np.linspace(0.0, widest, 20001)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    angle = np.interp(abs(probability - 0.5) * 2, area / area[-1], angles)
    return math.copysign(math.sqrt(freedom) * math.tan(float(angle)), probability - 0.5)
