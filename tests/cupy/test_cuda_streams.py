"""Streams, events, host functions and graphs of `cupy.cuda`."""

from __future__ import annotations

import threading

import cupy
import numpy as np
import pytest
from cupy import cuda


def test_operations_of_streams_and_their_results() -> None:
    first, second = cuda.Stream(), cuda.Stream(non_blocking=True)
    a = cupy.arange(5.0)
    cuda.Device().synchronize()
    with first:
        b = a * 2
        event = first.record()
    second.wait_event(event)
    with second:
        c = b + 1
    second.synchronize()
    assert c.get().tolist() == [1, 3, 5, 7, 9]
    assert first.done and second.done


def test_with_and_use_keep_to_cupys_rules() -> None:
    one, two, three = cuda.Stream(), cuda.Stream(), cuda.Stream()
    with one:
        two.use()
        with three:
            assert cuda.get_current_stream() is three
        assert cuda.get_current_stream() is one  # what `use` chose is forgotten
    assert cuda.get_current_stream() is cuda.Stream.null


def test_each_thread_has_a_current_stream() -> None:
    seen = []
    with cuda.Stream():
        thread = threading.Thread(target=lambda: seen.append(cuda.get_current_stream()))
        thread.start()
        thread.join()
    assert seen == [cuda.Stream.null]


def test_events_measure_on_the_server() -> None:
    start, end, silent = cuda.Event(), cuda.Event(), cuda.Event(disable_timing=True)
    start.record()
    cupy.ones(100).sum()
    end.record()
    end.synchronize()
    assert end.done
    assert cuda.get_elapsed_time(start, end) > 0
    assert cuda.get_elapsed_time(end, start) < 0
    silent.record()
    with pytest.raises(cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
        cuda.get_elapsed_time(start, silent)
    with pytest.raises(cuda.runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
        cuda.get_elapsed_time(start, cuda.Event())
    with pytest.raises(ValueError, match="interprocess"):
        cuda.Event(interprocess=True)


def test_host_functions_run_in_order_and_keep_nobody() -> None:
    stream = cuda.Stream()
    gate, log = threading.Event(), []
    with stream:
        a = cupy.arange(3)
        stream.launch_host_func(lambda arg: (gate.wait(10), log.append(arg)), "first")
        stream.add_callback(lambda s, status, arg: log.append((s is stream, status, arg)), "second")
        b = a + 1  # the caller goes on
    assert log == []
    gate.set()
    stream.synchronize()
    assert log == ["first", (True, 0, "second")]
    assert b.get().tolist() == [1, 2, 3]


def test_a_graph_is_replayed_with_the_arrays_of_its_capture() -> None:
    stream = cuda.Stream(non_blocking=True)
    a = cupy.arange(4.0)
    cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        assert stream.is_capturing()
        b = cupy.sin(a) + 1
        a += 1
        graph = stream.end_capture()
    assert a.get().tolist() == [0, 1, 2, 3]  # nothing was done yet
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert a.get().tolist() == [2, 3, 4, 5]
    assert np.allclose(b.get(), np.sin([1, 2, 3, 4]) + 1)
    assert 'label="cupy_sin"' in graph.debug_dot_str()


def test_a_graph_of_two_streams_and_a_host_function() -> None:
    one, two = cuda.Stream(non_blocking=True), cuda.Stream(non_blocking=True)
    called: list[int] = []
    a = cupy.ones(3)
    cuda.Device().synchronize()  # a non-blocking stream does not wait for the null stream
    with one:
        one.begin_capture()
        b = a + 1
        two.wait_event(one.record())
        with two:
            c = b * 3
            joined = two.record()
        one.launch_host_func(called.append, 7)
        one.wait_event(joined)
        graph = one.end_capture()
    ((_, argument),) = graph.host_funcargs
    assert argument == 7 and not called
    graph.launch(one)
    one.synchronize()
    assert (c.get().tolist(), called) == ([6, 6, 6], [7])


def test_what_may_not_be_captured() -> None:
    stream = cuda.Stream(non_blocking=True)
    a = cupy.arange(4.0)
    error = cuda.runtime.CUDARuntimeError
    with stream:
        stream.begin_capture()
        with pytest.raises(RuntimeError, match="is capturing"):
            a.get()
        with pytest.raises(NotImplementedError, match="cuBLAS"):
            a @ a
        with pytest.raises(error, match="cudaErrorStreamCaptureUnsupported"):
            stream.synchronize()
        with pytest.raises(error, match="cudaErrorStreamCaptureInvalidated"):
            stream.end_capture()
    assert not stream.is_capturing()
    with pytest.raises(RuntimeError, match="legacy"):
        cuda.Stream.null.begin_capture()
    assert (a + 1).get().tolist() == [1, 2, 3, 4]


def test_a_graph_keeps_its_arrays() -> None:
    stream = cuda.Stream(non_blocking=True)
    a = cupy.ones((2, 2))
    cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        b = cupy.fft.fft(a)
        graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
    assert np.allclose(b.get(), np.fft.fft(np.ones((2, 2))))
    del a  # the graph keeps it
    graph.launch(stream)
    stream.synchronize()
    assert np.allclose(b.get(), np.fft.fft(np.ones((2, 2))))


def test_unknown_streams_and_events_are_invalid_handles() -> None:
    runtime = cuda.runtime
    for call in (
        lambda: runtime.streamSynchronize(12345),
        lambda: runtime.eventQuery(12345),
        lambda: runtime.streamDestroy(12345),
        lambda: runtime.graphLaunch(12345, 0),
    ):
        with pytest.raises(runtime.CUDARuntimeError) as caught:
            call()
        assert caught.value.status == 400


def test_the_stream_protocol_leads_back() -> None:
    stream = cuda.Stream()
    same = cuda.Stream.from_external(stream)
    assert (same, stream.__cuda_stream__()) == (stream, (0, stream.ptr))
    with same:
        a = cupy.arange(3) + 1
    same.synchronize()
    assert a.get().tolist() == [1, 2, 3]


def test_a_read_on_a_stream_and_a_kernel_on_a_stream() -> None:
    stream = cuda.Stream(non_blocking=True)
    a = cupy.arange(4.0)
    cuda.Device().synchronize()
    with stream:
        b = a + 1
    assert b.get(stream=stream).tolist() == [1, 2, 3, 4]
    b.set(np.zeros(4), stream=stream)
    assert b.get(stream=stream).tolist() == [0, 0, 0, 0]
    assert cuda.get_current_stream() is cuda.Stream.null
