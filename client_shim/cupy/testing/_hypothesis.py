"""A test of goodness of fit, for samples of random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

_LEVELS = (0.01, 0.05)


def chi_square_test(observed: Any, expected: Any, alpha: float = 0.05, df: Any = None) -> bool:
    """Return whether counts fit what was expected, by Pearson's chi-squared test.

    Args:
        observed: how often each outcome came; a host array.
        expected: how often it should have.
        alpha: level of significance, 0.05 or 0.01.
        df: degrees of freedom; by default one less than there are outcomes.
    """
    if alpha not in _LEVELS:
        raise ValueError(f"alpha must be one of {_LEVELS}, not {alpha}")
    from scipy.stats import chi2

    freedom = observed.size - 1 if df is None else df
    statistic = np.sum((observed - expected) ** 2 / expected)
    return bool(statistic < chi2.isf(alpha, freedom))
