"""`next_fast_len`."""

from __future__ import annotations

__all__ = ["next_fast_len"]


def next_fast_len(target: int, real: bool = False) -> int:
    """Return the smallest length from `target` on without prime factors above 7.

    Those are what cuFFT is fast for; SciPy's function knows other ones.

    Args:
        real: without effect.
    """
    if target <= 1:
        return target
    best = 1 << (target - 1).bit_length()
    seven = 1
    while seven < best:
        five = seven
        while five < best:
            three = five
            while three < best:
                needed = -(-target // three)
                best = min(best, three << max(0, (needed - 1).bit_length()))
                three *= 3
            five *= 5
        seven *= 7
    return best
