"""What kernel objects tell of the sources that were generated for them."""

from __future__ import annotations

import warnings
from typing import Any


class KernelCodes:
    """Adds `cached_codes` and `cached_code` to a kernel that knows its sources.

    Attributes:
        _deferred: what the compilation waits for, for the warning when there is no source yet.
    """

    _deferred = "the first function call"

    @property
    def _cached_codes(self) -> dict[Any, str]:
        """Sources by argument types."""
        raise NotImplementedError

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated sources by argument types, for debugging; may ask the device."""
        codes = self._cached_codes
        if not codes:
            warnings.warn(
                f"No codes are cached because compilation is deferred until {self._deferred}.",
                stacklevel=2,
            )
        return codes

    @property
    def cached_code(self) -> str:
        """The first of `cached_codes`."""
        codes = self._cached_codes
        if len(codes) > 1:
            warnings.warn(
                "The input types of the kernel could not be inferred. Please use `.cached_codes`"
                " instead.",
                stacklevel=2,
            )
        return next(iter(codes.values()))
