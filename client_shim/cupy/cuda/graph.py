"""`cupy.cuda.Graph`: operations that were captured, to be done again by one message."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy.cuda import _runtime_graphs as _graphs
from cupool.client_shim.cupy.cuda import _runtime_streams as _calls


class Graph:
    """What a stream captured; made by `Stream.end_capture`.

    Its arrays are those of the capture: a launch reads and writes them again.
    """

    __module__ = "cupy.cuda"
    graph: int = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "currently this class cannot be initiated by the user and must be created via stream"
            " capture"
        )

    @classmethod
    def _from_pointer(cls, pointer: int) -> Graph:
        made = cls.__new__(cls)
        made.graph = pointer
        return made

    @property
    def graphExec(self) -> int:
        """What can be launched: the graph itself."""
        return self.graph

    @property
    def host_funcargs(self) -> list[tuple[Any, Any]]:
        """The functions of this machine that a launch calls, with their arguments."""
        return _graphs.graph_host_functions(self.graph)

    def __del__(self) -> None:
        try:
            _graphs.graphDestroy(self.graph)
        except (AttributeError, TypeError):
            return  # never made, or the interpreter goes down

    def launch(self, stream: Any = None) -> None:
        """Do what was captured, in a stream, the current one by default."""
        _graphs.graphLaunch(self.graph, _pointer(stream))

    def upload(self, stream: Any = None) -> None:
        """Prepare a launch; it is prepared."""
        _graphs.graphUpload(self.graph, _pointer(stream))

    def debug_dot_str(self, flags: int = 0) -> str:
        """Return the graph in DOT's language."""
        return _graphs.graph_dot(self.graph, flags)


def _pointer(stream: Any) -> int:
    return _calls.current_pointer() if stream is None else int(stream.ptr)
