"""Python runs this before the user's script: `cupool run` put this folder first on PYTHONPATH.

It runs in every Python process of the job, pip included, so it imports next to nothing; a
Python that does not have cupool is left alone.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_ours = sys.modules.pop("sitecustomize", None)  # make room for the user's own, if there is one
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]

try:
    from cupool.client_shim.hook import install
except ModuleNotFoundError as exc:
    if (exc.name or "").partition(".")[0] != "cupool":
        raise
else:
    install()

try:
    import sitecustomize  # noqa: F401
except ModuleNotFoundError as exc:
    if exc.name != "sitecustomize":
        raise
    if _ours is not None:
        # The import system looks for the name when we return, and complains if it is gone.
        sys.modules["sitecustomize"] = _ours
