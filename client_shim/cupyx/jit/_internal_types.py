"""What a Python expression becomes: C++ text with a type, or a value known when it is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment
    from cupool.client_shim.cupyx.jit._cuda_types import TypeBase


class Expr:
    """A compiled expression."""


class Data(Expr):
    """C++ text and its type.

    Attributes:
        code: the text, which is evaluated where it is put.
        ctype: its type.
    """

    def __init__(self, code: str, ctype: TypeBase) -> None:
        self.code = code
        self.ctype = ctype

    def __repr__(self) -> str:
        return f'<Data code = "{self.code}", type = {self.ctype}>'

    @property
    def obj(self) -> NoReturn:
        """Raise: there is no value before the kernel runs."""
        raise ValueError(f"Constant value is required: {self.code}")

    @classmethod
    def init(cls, value: Expr, env: Environment) -> Data:
        """Return an expression as C++ text.

        Raises:
            TypeError, NotImplementedError: a constant that a kernel cannot hold.
        """
        from cupool.client_shim.cupyx.jit import _cuda_types

        if isinstance(value, Data):
            return value
        if not isinstance(value, Constant):
            raise TypeError(f"'{value!r}' cannot be interpreted as a cuda object.")
        if isinstance(value.obj, tuple):
            items = [cls.init(Constant(item), env) for item in value.obj]
            return _cuda_types.tuple_of(items)
        if isinstance(value.obj, Data):
            return value.obj
        ctype = _cuda_types.scalar_of(env.mode, value.obj)
        return cls(_cuda_types.literal(value.obj, ctype), ctype)


class Constant(Expr):
    """A Python value that is known when the kernel is compiled."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __repr__(self) -> str:
        return f'<Constant obj = "{self.obj}">'


class Range(Expr):
    """What a for-loop counts over."""

    def __init__(
        self,
        start: Data,
        stop: Data,
        step: Data,
        ctype: Any,
        ascending: bool | None,
        unroll: int | bool | None,
    ) -> None:
        self.start, self.stop, self.step = start, stop, step
        self.ctype = ctype
        self.ascending = ascending
        """Whether the step is positive; None if only the running kernel knows."""
        self.unroll = unroll


class BuiltinFunc(Expr):
    """A function that kernels may call; a subclass has `call` or `call_const`."""

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Cannot call this function from Python layer.")

    def __repr__(self) -> str:
        return "<cupyx.jit function>"

    def call(self, env: Environment, *args: Any, **kwargs: Any) -> Expr:
        """Return what a call becomes; a subclass names the arguments, which are expressions.

        Raises:
            TypeError: an argument is not known when the kernel is compiled.
        """
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Constant):
                raise TypeError("Arguments must be constants.")
        constants = [value.obj for value in args if isinstance(value, Constant)]
        named = {name: v.obj for name, v in kwargs.items() if isinstance(v, Constant)}
        return self.call_const(env, *constants, **named)

    def call_const(self, env: Environment, *args: Any, **kwargs: Any) -> Expr:
        """Return what a call with constants becomes."""
        raise NotImplementedError


class Method(BuiltinFunc):
    """A method of something that a kernel holds: `function(env, instance, *args)`."""

    def __init__(self, function: Any, instance: Data) -> None:
        self._function = function
        self._instance = instance

    def call(self, env: Environment, *args: Expr, **kwargs: Expr) -> Expr:
        """Call it."""
        made: Expr = self._function(env, self._instance, *args, **kwargs)
        return made
