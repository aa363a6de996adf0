"""Where requests go: pure functions from a demand and what is left to devices.

`types.py` is the vocabulary, `fleet.py` the pool as arrays, `policies.py` the rules by name,
`choose.py` the way from a rule to devices, `explain.py` the reasons for a no.
"""

from cupool.pool_server.broker.placement.choose import decide, place
from cupool.pool_server.broker.placement.explain import could_fit, explain, missing
from cupool.pool_server.broker.placement.fleet import Fleet
from cupool.pool_server.broker.placement.fragmentation import History, Usual
from cupool.pool_server.broker.placement.policies import POLICIES, Policy, policy
from cupool.pool_server.broker.placement.types import (
    Demand,
    DeviceRoom,
    Explanation,
    Missing,
    Near,
    ServerRoom,
    Slot,
)

__all__ = [
    "POLICIES",
    "Demand",
    "DeviceRoom",
    "Explanation",
    "Fleet",
    "History",
    "Missing",
    "Near",
    "Policy",
    "ServerRoom",
    "Slot",
    "Usual",
    "could_fit",
    "decide",
    "explain",
    "missing",
    "place",
    "policy",
]
