"""Who owns the GPUs: the daemon, session workers, devices, and the broker.

In: messages of sessions and control calls. Out: results, grants, states.
Never imports `client_shim`.
"""
