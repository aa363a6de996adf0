"""`cupyx.scipy.sparse.csgraph`: graphs as sparse matrices."""

from cupool.client_shim.cupyx.scipy.sparse.csgraph._traversal import connected_components

__all__ = ["connected_components"]
