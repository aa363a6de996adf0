"""How messages travel: one `Channel` interface, one file per carrier.

In: a header frame and payload frames. Out: the same frames at the other end, in order.
Knows `proto` and nobody else.
"""
