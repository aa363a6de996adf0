"""Graphs of `cupy.cuda.runtime`: captures of streams, and launches of what was captured."""

from __future__ import annotations

from typing import Any

from cupool.client_shim import session as _session
from cupool.client_shim.cupy.cuda import _runtime_errors as errors
from cupool.client_shim.cupy.cuda._runtime_errors import fail
from cupool.client_shim.cupy.cuda._runtime_streams import (
    Capture,
    captures,
    entry_of,
    find_entry,
    keep_entry,
    launchHostFunc,
    streamCaptureModeRelaxed,
    streamNonBlocking,
    target_of,
    watch,
)
from cupool.client_shim.handles import Handle

__all__ = [
    "graphDebugDotPrint",
    "graphDestroy",
    "graphExecDestroy",
    "graphInstantiate",
    "graphLaunch",
    "graphUpload",
    "streamBeginCapture",
    "streamEndCapture",
    "streamIsCapturing",
]


class GraphEntry:
    """A graph; `host` are the functions that it calls on this machine."""

    def __init__(self, session: _session.DeviceSession, handle: Handle, host: list[Any]) -> None:
        self.session = session
        self.handle = handle
        self.host = host


_graphs: dict[int, GraphEntry] = {}


def streamBeginCapture(stream: int, mode: int = streamCaptureModeRelaxed) -> None:
    """Keep what comes later in a stream for a graph, instead of doing it.

    Raises:
        CUDARuntimeError: the null stream, or one that captures already.
    """
    session, entry, ref = target_of(stream)
    if entry is None:
        fail(errors.CAPTURE_UNSUPPORTED)
    if entry.capture is not None:
        fail(errors.ILLEGAL_STATE)
    session.submit(("capture_begin", (), (ref,), None))
    entry.capture = Capture(entry)
    captures.append(entry.capture)
    watch()


def streamEndCapture(stream: int) -> int:
    """End a capture and return the address of its graph.

    Raises:
        CUDARuntimeError: there is none, it was begun in another stream, it was spoiled by a call
            that may not be captured, or a stream that joined it was not waited for.
    """
    session, entry, ref = target_of(stream)
    if entry is None or entry.capture is None:
        fail(errors.ILLEGAL_STATE)
    capture = entry.capture
    if capture.origin is not entry:
        capture.invalid = True
        fail(errors.CAPTURE_UNMATCHED)
    capture.end()
    handle = session.emit_object("capture_end", (ref,), None)
    if capture.invalid:
        fail(errors.CAPTURE_INVALIDATED)
    if capture.apart:
        fail(errors.CAPTURE_UNJOINED)
    return keep_entry(_graphs, GraphEntry(session, handle, capture.host))


def streamIsCapturing(stream: int) -> bool:
    """Return whether a stream is capturing.

    Raises:
        CUDARuntimeError: the null stream, while a stream that keeps step with it captures.
    """
    entry = entry_of(stream)
    if entry is not None:
        return entry.capture is not None
    blocking = (s for capture in captures for s in capture.streams)
    if any(not s.flags & streamNonBlocking for s in blocking):
        fail(errors.CAPTURE_IMPLICIT)
    return False


# ---------------------------------------------------------------- graphs


def graphInstantiate(graph: int) -> int:
    """Return a graph that can be launched: the same, it is ready."""
    return keep_entry(_graphs, find_entry(_graphs, graph))


def graphDestroy(graph: int) -> None:
    """Forget a graph."""
    _graphs.pop(graph, None)


graphExecDestroy = graphDestroy


def graphLaunch(graphExec: int, stream: int) -> None:
    """Do what was captured, in a stream: one message, whatever the graph's size."""
    session, _, ref = target_of(stream)
    found: GraphEntry = find_entry(_graphs, graphExec)
    if found.session is not session:
        fail(errors.INVALID_VALUE)
    session.submit(("graph_launch", (), (found.handle.ref, ref), None))
    for callback, arg in found.host:
        launchHostFunc(stream, callback, arg)


def graph_host_functions(graph: int) -> list[Any]:
    """Return the functions of this machine that a graph calls, with their arguments."""
    found: GraphEntry = find_entry(_graphs, graph)
    return list(found.host)


def graphUpload(graphExec: int, stream: int) -> None:
    """Nothing to do: a graph is on the server since it was captured."""
    find_entry(_graphs, graphExec)
    entry_of(stream)


def graph_dot(graph: int, flags: int) -> str:
    """Return a graph in DOT's language."""
    found: GraphEntry = find_entry(_graphs, graph)
    return str(found.session.ask("graph_dot", (found.handle.ref, int(flags)), quiet=True))


def graphDebugDotPrint(graph: int, path: str, flags: int) -> None:
    """Write a graph in DOT's language into a file of this machine."""
    text = graph_dot(graph, flags)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
