"""Responses of linear systems: continuous ones, and those in discrete time.

A system is an object, or a tuple of its arrays; one in discrete time ends in the time `dt`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from cupool.client_shim.cupyx.scipy._declared import Spec, send
from cupool.client_shim.cupyx.scipy.signal._rules import (
    COMPLEX,
    FLOAT,
    coefficients,
    described,
    frequencies,
    on_device,
)
from cupool.client_shim.cupyx.scipy.signal._system_shapes import System, described_system

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


def _known(system: Any, parts: tuple[Any, ...]) -> System:
    return described_system(parts, trimmed=getattr(system, "_trimmed", False))


def _outputs(steps: int, count: int) -> Spec:
    """Predict a response of several outputs: no axis has one element."""
    return Spec(tuple(n for n in (steps, count) if n != 1), FLOAT)


def _check_times(times: Any) -> Any:
    """Return times of the script as an array.

    Raises:
        ValueError: more than one axis, a start before zero, steps that differ.
    """
    steps = np.atleast_1d(np.asarray(times))
    if steps.ndim != 1:
        raise ValueError("T must be a rank-1 array.")
    if steps[0] < 0:
        raise ValueError("Initial time must be nonnegative")
    if steps.size > 1 and not np.allclose(np.diff(steps), steps[1] - steps[0]):
        raise ValueError("Time steps are not equally spaced.")
    return steps


def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> Any:
    """Return times, output and state for an input `U` at times `T`.

    Args:
        interp: the input runs straight between its samples; False keeps it constant.

    Raises:
        ValueError: times that do not start at or after zero, or are not as far from each other.
    """
    parts = _tuple(system, "lsim", False)
    given = {"system": parts, "U": U, "T": T, "X0": X0, "interp": interp}
    known = _known(system, parts)
    specs: Any = 3
    if not on_device(T) and known.states is not None and known.exact:
        steps = _check_times(T)
        count = steps.size
        specs = [Spec(steps.shape, steps.dtype), _outputs(count, known.outputs)]
        specs.append(_outputs(count, known.states))
    return send("scipy.signal.lsim", given, specs)


def _response(name: str, system: Any, X0: Any, T: Any, N: Any) -> Any:
    parts = _tuple(system, name, False)
    given = {"system": parts, "X0": X0, "T": T, "N": N}
    known = _known(system, parts)
    specs: Any = 2
    if not on_device(T) and known.exact:
        times = Spec((100 if N is None else N,), FLOAT)
        if T is not None:
            steps = _check_times(T)
            times = Spec(np.shape(T), steps.dtype)
        specs = [times, _outputs(int(np.prod(times.shape)), known.outputs)]
    return send(f"scipy.signal.{name}", given, specs)


def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    """Return times and the impulse response; see `lsim`."""
    return _response("impulse", system, X0, T, N)


def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> Any:
    """Return times and the step response; see `lsim`."""
    return _response("step", system, X0, T, N)


def _spectrum(system: Any, parts: tuple[Any, ...], name: str, w: Any, n: Any) -> Spec | None:
    """Predict frequencies; None if only the device knows.

    Raises:
        ValueError: several inputs or outputs.
    """
    known = _known(system, parts)
    if known.inputs != 1 or known.outputs != 1:
        raise ValueError(f"{name} requires a SISO (single input, single output) system.")
    found = frequencies(n if w is None else w, 0)
    return None if found is None or found.dtype.char in "ef" else found


def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Return frequencies and the complex response.

    Raises:
        ValueError: several inputs or outputs.
    """
    parts = _tuple(system, "freqresp", False)
    points = _spectrum(system, parts, "freqresp()", w, n)
    specs = 2 if points is None else [points, Spec(points.shape, COMPLEX)]
    return send("scipy.signal.freqresp", {"system": parts, "w": w, "n": n}, specs)


def bode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Return frequencies, magnitude in dB and phase in degrees; see `freqresp`."""
    parts = _tuple(system, "bode", False)
    points = _spectrum(system, parts, "freqresp()", w, n)
    specs = 3 if points is None else [points, *[Spec(points.shape, FLOAT)] * 2]
    return send("scipy.signal.bode", {"system": parts, "w": w, "n": n}, specs)


def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
    """Return frequencies and the complex response of a system in discrete time; see `freqresp`."""
    parts = _tuple(system, "dfreqresp", True)
    points = _spectrum(system, parts[:-1], "dfreqresp", w, n)
    specs: Any = 2
    if points is not None:
        specs = [Spec(points.shape, FLOAT), Spec(points.shape, COMPLEX)]
    given = {"system": parts, "w": w, "n": n, "whole": whole}
    return send("scipy.signal.dfreqresp", given, specs)


def dbode(system: Any, w: Any = None, n: int = 100) -> Any:
    """Return frequencies, magnitude in dB and phase in degrees of a system in discrete time."""
    parts = _tuple(system, "dbode", True)
    points = _spectrum(system, parts[:-1], "dfreqresp", w, n)
    specs = 3 if points is None else [Spec(points.shape, FLOAT)] * 3
    return send("scipy.signal.dbode", {"system": parts, "w": w, "n": n}, specs)


def _samples(last: float, dt: Any) -> int:
    """Return how many samples `dt` apart there are up to a time."""
    return int(np.floor(last / dt)) + 1


def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> Any:
    """Return times and output for an input; of a state space also the state."""
    parts = _tuple(system, "dlsim", True)
    given = {"system": parts, "u": u, "t": t, "x0": x0}
    known, matrices = _known(system, parts[:-1]), len(parts) == 5
    specs: Any = 3 if matrices else 2
    if not on_device(t, parts[-1]):
        dt = parts[-1]
        count = coefficients(u).shape[0] if t is None else _samples(np.asarray(t)[-1], dt)
        specs = [Spec((count,), FLOAT), Spec((count, known.outputs), FLOAT)]
        if matrices:
            specs.append(Spec((count, known.states or 0), FLOAT))
    return send("scipy.signal.dlsim", given, specs)


def _responses(name: str, system: Any, x0: Any, t: Any, n: Any) -> Any:
    parts = _tuple(system, name, True)
    given = {"system": parts, "x0": x0, "t": t, "n": n}
    known, dt = _known(system, parts[:-1]), parts[-1]
    specs: Any = 1 + known.inputs
    if not on_device(t, dt):
        if t is None:
            number = 100 if n is None else n
            last = (number - 1) * (number * dt / number)  # as `linspace` rounds
        else:
            last = np.asarray(t)[-1]
        count = _samples(last, dt)
        specs = [Spec((count,), FLOAT), *[Spec((count, known.outputs), FLOAT)] * known.inputs]
    times, *outputs = send(f"scipy.signal.{name}", given, specs)
    return times, tuple(outputs)


def dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    """Return times and the impulse responses, one for each input."""
    return _responses("dimpulse", system, x0, t, n)


def dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> Any:
    """Return times and the step responses, one for each input."""
    return _responses("dstep", system, x0, t, n)


_METHODS = "gbt bilinear tustin euler forward_diff backward_diff zoh foh impulse".split()


def _sampled(system: tuple[Any, ...], dt: Any, method: str) -> Any:
    """Predict a state space with samples `dt` apart, and `dt`; 5 if that cannot be done."""
    a, b, c, d = (described(m) for m in system)
    if on_device(dt) or (method == "impulse" and on_device(system[3])):
        return 5
    if any(m.dtype != FLOAT or len(m.shape) != 2 for m in (a, b, c, d)):
        return 5
    return [a, b, c, d, Spec((), np.asarray(dt).dtype)]


def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
    """Return a continuous system with samples `dt` apart, as a tuple that ends in `dt`.

    Args:
        method: "zoh", "foh", "impulse", "bilinear", "euler", "backward_diff" or "gbt".
        alpha: weight for "gbt".

    Raises:
        ValueError: an unknown method, a weight that is missing or not in 0 to 1.
    """
    if not isinstance(system, (tuple, list)):
        return system.to_discrete(dt, method, alpha)
    if method not in _METHODS:
        raise ValueError(f"Unknown transformation method '{method}'")
    if method == "gbt":
        if alpha is None:
            raise ValueError(
                "Alpha parameter must be specified for the generalized bilinear transform (gbt) "
                "method"
            )
        if alpha < 0 or alpha > 1:
            raise ValueError("Alpha parameter must be within the interval [0,1] for the gbt method")
    given = {"system": tuple(system), "dt": dt, "method": method, "alpha": alpha}
    specs = _sampled(tuple(system), dt, method) if len(system) == 4 else len(system) + 1
    parts = send("scipy.signal.cont2discrete", given, specs)
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
