"""How a call is written down: messages, values, the operation table, the control plane's schema.

In: Python values of the shim and the server. Out: bytes and checked structures.
Imported by everyone; imports nobody but ``cupool.errors``.
"""
