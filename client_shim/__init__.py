"""What the script calls: the CuPy look-alike, its session, and the hook that injects it.

In: calls of the user's script. Out: operations on a channel.
Never imports `pool_server`.
"""
