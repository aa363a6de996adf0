"""A link that breaks between script and worker: the script sees a pause, and the same bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.pools import WITHIN_S, a_pool

SCRIPT = '''
import dataclasses, socket, threading
from cupool.client_shim import lease

class Cut:
    """A TCP proxy in front of the worker whose connections can be cut."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.sockets = []
        self.server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.server.accept()
            worker = socket.create_connection(self.target)
            self.sockets += [client, worker]
            for a, b in ((client, worker), (worker, client)):
                threading.Thread(target=self.copy, args=(a, b), daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            return

    def cut(self):
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self.sockets.clear()

acquire = lease.acquire

def through_proxy(settings):
    global proxy
    granted = acquire(settings)
    (device,) = granted.devices
    (url,) = device.urls
    scheme, _, address = url.partition("://")
    host, _, port = address.rpartition(":")
    proxy = Cut(host, int(port))
    here = f"{scheme}://127.0.0.1:{proxy.server.getsockname()[1]}"
    return dataclasses.replace(granted, devices=(dataclasses.replace(device, urls=(here,)),))

lease.acquire = through_proxy

import cupy as cp
a = cp.zeros(1000)
for step in range(3000):
    a += 1
    if step % 1000 == 500:
        a[0].item()
        proxy.cut()
print(float(a.sum()))
proxy.cut()
print(float((a * 2).sum()))
'''


@pytest.mark.parametrize("carrier", ["tcp", "grpc"])
def test_a_cut_link_is_resumed(carrier: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with a_pool(a=("--mock", "1", "--grace", "20s")) as pool:
        script = pool.run("--carrier", carrier, "script.py", cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
        assert (out, script.returncode) == ("3000000.0\n6000000.0\n", 0), err
