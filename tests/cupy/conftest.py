"""Array tests: the same call on NumPy and on `cupy` through an embedded mock pool."""

from __future__ import annotations

import cupool.auto  # noqa: F401  (before `import cupy`)
