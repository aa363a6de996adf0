"""Responses of linear systems: continuous ones, and those in discrete time.

A system is an object, or a tuple of its arrays; one in discrete time ends in the time `dt`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cupool.client_shim.cupyx.scipy._declared import send

__all__ = [
    "bode",
    "cont2discrete",
    "dbode",
    "dfreqresp",
    "dimpulse",
    "dlsim",
    "dstep",
    "freqresp",
    "impulse",
    "lsim",
    "place_poles",
    "step",
]


def _tuple(system: Any, name: str, discrete: bool) -> tuple[Any, ...]:
    """Return a system as a tuple.

    Raises:
        AttributeError: one in discrete time where a continuous one is needed, or the reverse.
    """
    if isinstance(system, (tuple, list)):
        return tuple(system)
    if (system.dt is not None) != discrete:
        kind = "discrete-time dlti" if discrete else "continuous-time"
        raise AttributeError(f"{name} can only be used with {kind} systems.")
    return system._system()  # type: ignore[no-any-return]


def _inputs(system: tuple[Any, ...]) -> int:
    """Return how many inputs a system in discrete time has."""
    if len(system) != 5:
        return 1
    b = system[1]
    return int(b.shape[1]) if getattr(b, "ndim", 0) == 2 else 1


def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> Any:
    """Return times, output and state for an input `U` at times `T`.

    Args:
        interp: the input runs straight between its samples; False keeps it constant.
    """
    given = {"system": _tuple(system, "lsim", False), "U": U, "T": T, "X0": X0, "interp": interp}
    return send("scipy.signal.lsim", given, 3)


def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    """Return times and the impulse response."""
    given = {"system": _tuple(system, "impulse", False), "X0": X0, "T": T, "N": N}
    return send("scipy.signal.impulse", given, 2)


def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    """Return times and the step response."""
    given = {"system": _tuple(system, "step", False), "X0": X0, "T": T, "N": N}
    return send("scipy.signal.step", given, 2)


def bode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Return frequencies, magnitude in dB and phase in degrees."""
    given = {"system": _tuple(system, "bode", False), "w": w, "n": n}
    return send("scipy.signal.bode", given, 3)


def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Return frequencies and the complex response."""
    given = {"system": _tuple(system, "freqresp", False), "w": w, "n": n}
    return send("scipy.signal.freqresp", given, 2)


def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any:
    """Return times and output for an input; of a state space also the state."""
    parts = _tuple(system, "dlsim", True)
    given = {"system": parts, "u": u, "t": t, "x0": x0}
    return send("scipy.signal.dlsim", given, 3 if len(parts) == 5 else 2)


def _responses(name: str, system: Any, x0: Any, t: Any, n: Any) -> Any:
    parts = _tuple(system, name, True)
    given = {"system": parts, "x0": x0, "t": t, "n": n}
    times, *outputs = send(f"scipy.signal.{name}", given, 1 + _inputs(parts))
    return times, tuple(outputs)


def dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    """Return times and the impulse responses, one for each input."""
    return _responses("dimpulse", system, x0, t, n)


def dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    """Return times and the step responses, one for each input."""
    return _responses("dstep", system, x0, t, n)


def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
    """Return frequencies and the complex response of a system in discrete time."""
    given = {"system": _tuple(system, "dfreqresp", True), "w": w, "n": n, "whole": whole}
    return send("scipy.signal.dfreqresp", given, 2)


def dbode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Return frequencies, magnitude in dB and phase in degrees of a system in discrete time."""
    given = {"system": _tuple(system, "dbode", True), "w": w, "n": n}
    return send("scipy.signal.dbode", given, 3)


def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
    """Return a continuous system with samples `dt` apart, as a tuple that ends in `dt`.

    Args:
        method: "zoh", "foh", "impulse", "bilinear", "euler", "backward_diff" or "gbt".
        alpha: weight for "gbt".
    """
    if not isinstance(system, (tuple, list)):
        return system.to_discrete(dt, method, alpha)
    given = {"system": tuple(system), "dt": dt, "method": method, "alpha": alpha}
    parts = send("scipy.signal.cont2discrete", given, len(system) + 1)
    return (*parts[:-1], dt)


def place_poles(
    A: Any, B: Any, poles: Any, method: str = "YT", rtol: float = 1e-3, maxiter: int = 30
) -> SimpleNamespace:
    """Return the gain matrix that moves a system's poles, as an object with the details."""
    given = {"A": A, "B": B, "poles": poles, "method": method, "rtol": rtol, "maxiter": maxiter}
    names = ("gain_matrix", "computed_poles", "requested_poles", "X", "rtol", "nb_iter")
    results = send("scipy.signal.place_poles", given, len(names))
    found = SimpleNamespace(**dict(zip(names, results, strict=True)))
    rounds = float(found.nb_iter)
    found.nb_iter = int(rounds) if rounds == rounds else rounds
    return found
