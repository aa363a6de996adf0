"""`import cupool.auto` as a first line does what `cupool run` does, for this process.

For Jupyter, `python -I`, and wherever the command line is not yours.
"""

from __future__ import annotations

import os
import sys

from cupool import jobs
from cupool.client_shim import hook
from cupool.errors import ConfigurationError


def _enable() -> None:
    foreign = sys.modules.get("cupy")
    if foreign is not None and not getattr(foreign, "__file__", "").startswith(_home()):
        raise ConfigurationError(
            "cupy was imported before cupool.auto", remedy="move `import cupool.auto` to the top"
        )
    if not os.environ.get("CUPOOL_JOB_TOKEN"):
        jobs.begin(os.environ)
    hook.install()


def _home() -> str:
    return os.path.dirname(os.path.abspath(hook.__file__))


_enable()
