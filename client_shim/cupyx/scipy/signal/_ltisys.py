"""Linear systems that do not change in time: objects of the script that hold device arrays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import asarray
from cupool.client_shim.cupyx.scipy.signal import (
    _iir_filter_conversions,
    _lti_conversion,
    _system_responses,
)

__all__ = ["StateSpace", "TransferFunction", "ZerosPolesGain", "dlti", "lti"]
ndarray = core.ndarray


class LinearTimeInvariant:
    """What all systems have in common; see `lti` and `dlti`."""

    _dt: Any = None

    def __new__(cls, *system: Any, **kwargs: Any) -> Any:
        """Make a system of a form, never one without.

        Raises:
            NotImplementedError: no form.
        """
        if cls is LinearTimeInvariant:
            raise NotImplementedError("a system has a form: use lti or dlti")
        return super().__new__(cls)

    @property
    def dt(self) -> Any:
        """The time between samples, True if it is not said; None for continuous systems."""
        return self._dt

    @dt.setter
    def dt(self, dt: Any) -> None:
        self._dt = dt

    def _dt_dict(self) -> dict[str, Any]:
        return {} if self.dt is None else {"dt": self.dt}

    def _arrays(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _system(self) -> tuple[Any, ...]:
        """Return the system as the tuple that the functions take."""
        return self._arrays() if self.dt is None else (*self._arrays(), self.dt)

    @property
    def zeros(self) -> Any:
        """The zeros."""
        return self.to_zpk().zeros

    @property
    def poles(self) -> Any:
        """The poles."""
        return self.to_zpk().poles

    def to_tf(self, **kwargs: Any) -> Any:
        """Return the system as a transfer function."""
        raise NotImplementedError

    def to_zpk(self, **kwargs: Any) -> Any:
        """Return the system as zeros, poles and gain."""
        raise NotImplementedError

    def to_ss(self) -> Any:
        """Return the system as a state space."""
        raise NotImplementedError


def _by_count(system: tuple[Any, ...], classes: dict[int, Any], name: str) -> Any:
    try:
        return classes[len(system)]
    except KeyError:
        raise ValueError(
            f"`system` needs to be an instance of `{name}` or have 2, 3 or 4 arguments"
        ) from None


class lti(LinearTimeInvariant):
    """A continuous system: of numerator and denominator, of zeros, poles and gain, or of A to D."""

    def __new__(cls, *system: Any) -> Any:
        """Choose the form by the number of arguments.

        Raises:
            ValueError: not 2, 3 or 4.
        """
        if cls is lti:
            forms = {
                2: TransferFunctionContinuous,
                3: ZerosPolesGainContinuous,
                4: StateSpaceContinuous,
            }
            cls = _by_count(system, forms, "lti")
        return object.__new__(cls)

    def impulse(self, X0: Any = None, T: Any = None, N: Any = None) -> Any:
        """Return the impulse response; see `impulse`."""
        return _system_responses.impulse(self, X0=X0, T=T, N=N)

    def step(self, X0: Any = None, T: Any = None, N: Any = None) -> Any:
        """Return the step response; see `step`."""
        return _system_responses.step(self, X0=X0, T=T, N=N)

    def output(self, U: Any, T: Any, X0: Any = None) -> Any:
        """Return the response to an input; see `lsim`."""
        return _system_responses.lsim(self, U, T, X0=X0)

    def bode(self, w: Any = None, n: int = 100) -> Any:
        """Return frequencies, magnitude and phase; see `bode`."""
        return _system_responses.bode(self, w=w, n=n)

    def freqresp(self, w: Any = None, n: int = 10000) -> Any:
        """Return frequencies and the response; see `freqresp`."""
        return _system_responses.freqresp(self, w=w, n=n)

    def to_discrete(self, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
        """Return the system with samples `dt` apart; see `cont2discrete`."""
        parts = _system_responses.cont2discrete(self._arrays(), dt, method, alpha)
        return _form_of(self)(*parts[:-1], dt=parts[-1])


class dlti(LinearTimeInvariant):
    """A system in discrete time; `dt` is the time between samples. See `lti`."""

    _dt = True

    def __new__(cls, *system: Any, **kwargs: Any) -> Any:
        """Choose the form by the number of arguments.

        Raises:
            ValueError: not 2, 3 or 4.
        """
        if cls is dlti:
            forms = {
                2: TransferFunctionDiscrete,
                3: ZerosPolesGainDiscrete,
                4: StateSpaceDiscrete,
            }
            cls = _by_count(system, forms, "dlti")
        return object.__new__(cls)

    def impulse(self, x0: Any = None, t: Any = None, n: Any = None) -> Any:
        """Return the impulse response; see `dimpulse`."""
        return _system_responses.dimpulse(self, x0=x0, t=t, n=n)

    def step(self, x0: Any = None, t: Any = None, n: Any = None) -> Any:
        """Return the step response; see `dstep`."""
        return _system_responses.dstep(self, x0=x0, t=t, n=n)

    def output(self, u: Any, t: Any, x0: Any = None) -> Any:
        """Return the response to an input; see `dlsim`."""
        return _system_responses.dlsim(self, u, t, x0=x0)

    def bode(self, w: Any = None, n: int = 100) -> Any:
        """Return frequencies, magnitude and phase; see `dbode`."""
        return _system_responses.dbode(self, w=w, n=n)

    def freqresp(self, w: Any = None, n: int = 10000, whole: bool = False) -> Any:
        """Return frequencies and the response; see `dfreqresp`."""
        return _system_responses.dfreqresp(self, w=w, n=n, whole=whole)


class _Form(LinearTimeInvariant):
    """A form of a system: how many arrays it has, and its continuous and discrete classes."""

    _count = 0
    _convert = ""
    _continuous: Any = None
    _discrete: Any = None

    def __new__(cls, *system: Any, **kwargs: Any) -> Any:
        """Make the continuous or the discrete kind, or convert another system."""
        if len(system) == 1 and isinstance(system[0], LinearTimeInvariant):
            return getattr(system[0], cls._convert)()
        if not issubclass(cls, (lti, dlti)):
            cls = cls._continuous if kwargs.get("dt") is None else cls._discrete
        return object.__new__(cls)

    def __init__(self, *system: Any, **kwargs: Any) -> None:
        if len(system) == 1 and isinstance(system[0], LinearTimeInvariant):
            return
        if len(system) != self._count and not isinstance(self, StateSpace):
            raise ValueError(f"{type(self).__name__} takes {self._count} arrays")
        dt = kwargs.pop("dt", None)
        if isinstance(self, dlti):
            self._dt = True if dt is None else dt
        self._store(*system, **kwargs)

    def _store(self, *system: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def _names(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _arrays(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._names())

    def __repr__(self) -> str:
        parts = [repr(part) for part in self._arrays()]
        return f"{type(self).__name__}(\n" + ",\n".join([*parts, f"dt: {self.dt!r}"]) + "\n)"


class TransferFunction(_Form):
    """A system of numerator and denominator, highest power first."""

    _count, _convert = 2, "to_tf"

    def _store(self, num: Any, den: Any) -> None:
        self._num, self._den = _iir_filter_conversions.normalize(num, den)
        self._trimmed = True

    def _names(self) -> tuple[str, ...]:
        return ("num", "den")

    @property
    def num(self) -> Any:
        """The numerator."""
        return self._num

    @num.setter
    def num(self, num: Any) -> None:
        self._num = _at_least_1d(num)
        self._trimmed = False

    @property
    def den(self) -> Any:
        """The denominator."""
        return self._den

    @den.setter
    def den(self, den: Any) -> None:
        self._den = _at_least_1d(den)
        self._trimmed = False

    def to_tf(self, **kwargs: Any) -> Any:
        """Return a copy."""
        return copy.deepcopy(self)

    def to_zpk(self, **kwargs: Any) -> Any:
        """Return the system as zeros, poles and gain."""
        return ZerosPolesGain(
            *_iir_filter_conversions.tf2zpk(self.num, self.den), **self._dt_dict()
        )

    def to_ss(self) -> Any:
        """Return the system as a state space."""
        return StateSpace(*_iir_filter_conversions.tf2ss(self.num, self.den), **self._dt_dict())

    @staticmethod
    def _z_to_zinv(num: Any, den: Any) -> tuple[Any, Any]:
        """Turn polynomials in z into polynomials in 1/z: zeros go before the shorter."""
        return _padded(num, den, True)

    @staticmethod
    def _zinv_to_z(num: Any, den: Any) -> tuple[Any, Any]:
        """Turn polynomials in 1/z into polynomials in z: zeros go after the shorter."""
        return _padded(num, den, False)


class ZerosPolesGain(_Form):
    """A system of zeros, poles and gain."""

    _count, _convert = 3, "to_zpk"

    def _store(self, zeros: Any, poles: Any, gain: Any) -> None:
        self._zeros, self._poles, self.gain = _at_least_1d(zeros), _at_least_1d(poles), gain

    def _names(self) -> tuple[str, ...]:
        return ("zeros", "poles", "gain")

    @property
    def zeros(self) -> Any:
        """The zeros."""
        return self._zeros

    @zeros.setter
    def zeros(self, zeros: Any) -> None:
        self._zeros = _at_least_1d(zeros)

    @property
    def poles(self) -> Any:
        """The poles."""
        return self._poles

    @poles.setter
    def poles(self, poles: Any) -> None:
        self._poles = _at_least_1d(poles)

    def to_tf(self, **kwargs: Any) -> Any:
        """Return the system as a transfer function."""
        parts = _iir_filter_conversions.zpk2tf(self.zeros, self.poles, self.gain)
        return TransferFunction(*parts, **self._dt_dict())

    def to_zpk(self, **kwargs: Any) -> Any:
        """Return a copy."""
        return copy.deepcopy(self)

    def to_ss(self) -> Any:
        """Return the system as a state space."""
        parts = _iir_filter_conversions.zpk2ss(self.zeros, self.poles, self.gain)
        return StateSpace(*parts, **self._dt_dict())


class StateSpace(_Form):
    """A system of the matrices A, B, C and D. Systems add and multiply."""

    __array_priority__ = 100.0
    __array_ufunc__ = None
    _count, _convert = 4, "to_ss"

    def _store(self, *matrices: Any) -> None:
        matrices = tuple(None if m is None else asarray(m) for m in matrices)
        self.A, self.B, self.C, self.D = _lti_conversion.abcd_normalize(*matrices)

    def _names(self) -> tuple[str, ...]:
        return ("A", "B", "C", "D")

    def to_tf(self, **kwargs: Any) -> Any:
        """Return the system as a transfer function; `input` chooses one of several inputs."""
        return TransferFunction(
            *_iir_filter_conversions.ss2tf(*self._arrays(), **kwargs), **self._dt_dict()
        )

    def to_zpk(self, **kwargs: Any) -> Any:
        """Return the system as zeros, poles and gain; `input` chooses one of several inputs."""
        return ZerosPolesGain(
            *_iir_filter_conversions.ss2zpk(*self._arrays(), **kwargs), **self._dt_dict()
        )

    def to_ss(self) -> Any:
        """Return a copy."""
        return copy.deepcopy(self)

    def _made(self, *matrices: Any) -> Any:
        return StateSpace(*matrices, **self._dt_dict())

    def _check(self, other: StateSpace, word: str) -> None:
        if isinstance(self, dlti) != isinstance(other, dlti) or self.dt != other.dt:
            raise TypeError(f"Cannot {word} systems with different `dt`.")

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (StateSpace, ndarray, float, complex, np.number, int)):
            return NotImplemented
        if not isinstance(other, StateSpace):
            return self._scaled(other)
        from cupool.client_shim import cupy

        self._check(other, "multiply")
        a = cupy.vstack(
            (
                cupy.hstack((self.A, self.B @ other.C)),
                cupy.hstack((cupy.zeros((other.A.shape[0], self.A.shape[1])), other.A)),
            )
        )
        b = cupy.vstack((self.B @ other.D, other.B))
        return self._made(a, b, cupy.hstack((self.C, self.D @ other.C)), self.D @ other.D)

    def _scaled(self, factor: Any) -> Any:
        if isinstance(factor, ndarray) and factor.ndim:
            return self._made(self.A, self.B @ factor, self.C, self.D @ factor)
        return self._made(self.A, self.B * factor, self.C, self.D * factor)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, StateSpace) or not isinstance(
            other, (ndarray, float, complex, np.number, int)
        ):
            return NotImplemented
        if isinstance(other, ndarray) and other.ndim:
            return self._made(self.A, self.B, other @ self.C, other @ self.D)
        return self._made(self.A, self.B, other * self.C, other * self.D)

    def __neg__(self) -> Any:
        return self._made(self.A, self.B, -self.C, -self.D)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (StateSpace, ndarray, float, complex, np.number, int)):
            return NotImplemented
        if not isinstance(other, StateSpace):
            other = asarray(other)
            if other.ndim and other.shape != self.D.shape:
                raise ValueError("Cannot add systems with incompatible dimensions")
            return self._made(self.A, self.B, self.C, self.D + other)
        from cupool.client_shim import cupy

        self._check(other, "add")
        n, m = self.A.shape[0], other.A.shape[0]
        a = cupy.vstack(
            (
                cupy.hstack((self.A, cupy.zeros((n, m)))),
                cupy.hstack((cupy.zeros((m, n)), other.A)),
            )
        )
        b, c = cupy.vstack((self.B, other.B)), cupy.hstack((self.C, other.C))
        return self._made(a, b, c, self.D + other.D)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, StateSpace) or (isinstance(other, ndarray) and other.ndim):
            raise ValueError("Cannot divide StateSpace by anything but a number")
        return self * (1 / other)


def _padded(num: Any, den: Any, before: bool) -> tuple[Any, Any]:
    from cupool.client_shim import cupy

    num, den = asarray(num), asarray(den)
    length = max(len(num), len(den))
    parts = []
    for part in (num, den):
        zeros = cupy.zeros(length - len(part))
        pair = (zeros, part) if before else (part, zeros)
        parts.append(cupy.hstack(pair) if zeros.size else part)
    return parts[0], parts[1]


def _at_least_1d(value: Any) -> Any:
    array = asarray(value)
    return array if array.ndim else array.reshape(1)


class TransferFunctionContinuous(TransferFunction, lti):
    """A continuous system of numerator and denominator."""


class TransferFunctionDiscrete(TransferFunction, dlti):
    """A discrete system of numerator and denominator."""


class ZerosPolesGainContinuous(ZerosPolesGain, lti):
    """A continuous system of zeros, poles and gain."""


class ZerosPolesGainDiscrete(ZerosPolesGain, dlti):
    """A discrete system of zeros, poles and gain."""


class StateSpaceContinuous(StateSpace, lti):
    """A continuous system of A, B, C and D."""


class StateSpaceDiscrete(StateSpace, dlti):
    """A discrete system of A, B, C and D."""


_KINDS = (
    (TransferFunction, TransferFunctionContinuous, TransferFunctionDiscrete),
    (ZerosPolesGain, ZerosPolesGainContinuous, ZerosPolesGainDiscrete),
    (StateSpace, StateSpaceContinuous, StateSpaceDiscrete),
)
for _form, _form._continuous, _form._discrete in _KINDS:
    pass


def _form_of(system: LinearTimeInvariant) -> Any:
    return next(form for form, *_ in _KINDS if isinstance(system, form))
