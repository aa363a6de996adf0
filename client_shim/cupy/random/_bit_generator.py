"""`BitGenerator` and the three of cuRAND; the state is an object of the device."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, NoReturn

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy.random._parameters import shape_of

__all__ = ["XORWOW", "BitGenerator", "MRG32k3a", "Philox4x3210"]


class BitGenerator:
    """Base of the bit generators.

    Args:
        seed: None, int, sequence of ints, device array (costs a wait) or NumPy's `SeedSequence`.
    """

    def __init__(self, seed: Any = None) -> None:
        self.lock = threading.Lock()
        if not isinstance(seed, np.random.SeedSequence):
            if isinstance(seed, core.ndarray):
                seed = seed.get()
            seed = np.random.SeedSequence(seed)
        self._seed_seq = seed
        self._current_device_id = _session.current.device

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Return raw random integers; the base class has none."""
        raise NotImplementedError("Not implemented in base BitGenerator")

    def _check_device(self) -> None:
        if _session.current.device != self._current_device_id:
            raise RuntimeError("This Generator state is allocated in a different device")


class _DeviceBitGenerator(BitGenerator):
    """A bit generator whose state lies on the current device.

    Args:
        seed: see `BitGenerator`.
        size: how many threads have a state of their own; chosen by the device if negative.
    """

    generator: ClassVar[int]

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        super().__init__(seed)
        self._seed = int(self._seed_seq.generate_state(1, np.uint32)[0])
        kwargs = None if size < 0 else {"size": int(size)}
        self._object = calls.call_object(f"random.{type(self)._kind()}", (self._seed,), kwargs)

    @classmethod
    def _kind(cls) -> str:
        return next(c.__name__ for c in cls.__mro__ if c.__name__ in _KINDS)

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Return random bits as int32.

        Args:
            size: shape of the result; 0-d by default.
            output: False only advances the state and returns None.
        """
        self._check_device()
        shape = shape_of(size)
        args = (self._object, shape)
        if not output:
            calls.call_into("random.BitGenerator.random_raw", args)
            return None
        return calls.call_one(
            "random.BitGenerator.random_raw", args, None, shape, np.dtype(np.int32)
        )

    def state(self) -> NoReturn:
        """Refuse: the state's address means nothing here."""
        _unsupported.refuse("cupy.random.BitGenerator.state")


class XORWOW(_DeviceBitGenerator):
    """Marsaglia's XORWOW, the default."""

    generator = 0


class MRG32k3a(_DeviceBitGenerator):
    """L'Ecuyer's combined multiple recursive generator."""

    generator = 1


class Philox4x3210(_DeviceBitGenerator):
    """Philox4x32-10, counter-based."""

    generator = 2


_KINDS = ("XORWOW", "MRG32k3a", "Philox4x3210")
