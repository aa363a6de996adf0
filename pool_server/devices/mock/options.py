"""Switches of the mock device: how large, how slow, and when it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cupool.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class MockOptions:
    """Options of one mock device; 0 switches a slowness or a fault off.

    Attributes:
        memory_bytes: device memory; 0 = what the session was granted.
        model: which GPU it passes for; its name says so, and that it is a mock.
        compute: compute capability, as `Device.compute_capability` shows it with a dot.
        latency_us: every operation takes this long more.
        bandwidth_gbps: copies from and to the host take this many gigabits a second.
        fail_after: after so many operations an illegal access breaks the context for good.
        oom_after: after so many operations no allocation succeeds any more.
        die_after: after so many operations the worker process ends at once, as if killed.
        kernel_s: how long a user kernel may run; then it fails with error 702.
        checked: compare each access of user kernels with what is allocated; with 0 a wild pointer
            hits the worker process.
        race: seed of the order in which operations run that streams leave unordered.
    """

    memory_bytes: int = 0
    model: str = ""
    compute: str = "8.0"
    latency_us: float = 0.0
    bandwidth_gbps: float = 0.0
    fail_after: int = 0
    oom_after: int = 0
    die_after: int = 0
    kernel_s: float = 60.0
    checked: int = 1
    race: int = 0

    @property
    def has_faults(self) -> bool:
        """Must each operation be counted or delayed?"""
        return bool(self.latency_us or self.fail_after or self.oom_after or self.die_after)

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> MockOptions:
        """Make options of a mapping of plain values.

        Raises:
            ConfigurationError: an unknown name, or a value of the wrong type or below 0.
        """
        known = {f.name: {"str": str, "int": int, "float": float}[str(f.type)] for f in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in options.items():
            if name not in known:
                raise ConfigurationError(
                    f"the mock device has no option {name!r}", remedy=f"known: {', '.join(known)}"
                )
            try:
                values[name] = known[name](value)
            except (TypeError, ValueError):
                raise ConfigurationError(f"option {name}={value!r} of the mock device") from None
            if isinstance(values[name], (int, float)) and values[name] < 0:
                raise ConfigurationError(f"option {name}={value!r} of the mock device is negative")
        return cls(**values)
