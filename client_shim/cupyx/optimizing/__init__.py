"""`cupyx.optimizing`: kernel parameters are the server's affair."""

from cupool.client_shim.cupyx.optimizing._optimize import optimize

__all__ = ["optimize"]
