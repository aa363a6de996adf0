"""Slurm's prolog and epilog as Slurm calls them, against a real broker; no Slurm is here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.pools import WITHIN_S, Pool, a_pool

SCRIPTS = Path(__file__).resolve().parents[2] / "deploy" / "slurm"
ASKS = "import cupool, cupy; print(int(cupy.arange(4).sum()), cupool.lease().lease_id)"


class Slurm:
    """Calls the scripts with the variables that Slurm sets."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self.pool, self.folder = pool, folder
        cupool = folder / "cupool"
        cupool.write_text(f'#!/bin/sh\nexec {sys.executable} -m cupool "$@"\n')
        cupool.chmod(0o755)
        (folder / "key").write_bytes(b"k" * 32)
        text = (SCRIPTS / "cupool.conf").read_text()
        settings = {
            "CUPOOL": cupool,
            "CUPOOL_POOL": pool.url,
            "KEY_FILE": folder / "key",
            "JOBS": folder / "jobs",
            "WAIT": "0s",
        }
        for name, value in settings.items():
            lines = [line for line in text.splitlines() if line.startswith(f"{name}=")]
            text = text.replace(lines[0], f"{name}={value}")
        (folder / "slurm.conf").write_text(text)

    def call(self, script: str, job: int, **more: str) -> subprocess.CompletedProcess[str]:
        path = os.environ.get("PYTHONPATH", "")
        environment = {
            "CUPOOL_SLURM_CONF": str(self.folder / "slurm.conf"),
            "CUPOOL_TEST_MARK": self.pool.mark,
            "PYTHONPATH": path,
            "HOME": str(self.folder),
            "SLURM_CLUSTER_NAME": "test",
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_UID": str(os.getuid()),
            "SLURM_JOB_USER": "ann",
            "SLURM_JOB_ACCOUNT": "vision",
            "SLURM_SCRIPT_CONTEXT": "prolog_slurmd",
        }
        return subprocess.run(
            ["/bin/bash", str(SCRIPTS / script)],
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
        )

    def exported(self, job: int) -> dict[str, str]:
        """Return what the job's tasks get."""
        lines = self.call("cupool-task-prolog", job).stdout.splitlines()
        assert all(line.startswith("export CUPOOL_") for line in lines)
        pairs = [line.removeprefix("export ").partition("=") for line in lines]
        return {name: value for name, _, value in pairs}

    def task(self, job: int) -> str:
        """Run a script as a task of the job; return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "cupool", "run", "-c", ASKS],
            env=self.pool.environment() | self.exported(job),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    with a_pool(a=("--mock", "2")) as pool:
        yield Slurm(pool, tmp_path)


def test_a_job_holds_its_gpus_from_prolog_to_epilog(slurm: Slurm) -> None:
    end = str(int(time.time()) + 3600)
    asks = {
        "SLURM_JOB_LICENSES": "matlab:3,cupool:2",
        "SLURM_JOB_COMMENT": "cupool memory=1GiB share=0.5 pool=grpc://evil:1 priority=$(id)",
        "SLURM_JOB_END_TIME": end,
    }
    done = slurm.call("cupool-prolog", 7, **asks)
    assert done.returncode == 0
    assert [line.rpartition(": ")[2] for line in done.stderr.splitlines()] == [
        "pool=grpc://evil:1",
        "priority=$(id)",
    ]
    file = slurm.folder / "jobs" / "7"
    assert file.stat().st_mode & 0o777 == 0o600
    (lease,) = slurm.pool.status()["leases"]
    assert len(lease["devices"]) == 2
    terms = lease["terms"]
    assert (terms["tenant"], terms["share_milli"], terms["hold"]) == ("vision", 500, True)
    assert 3000 < terms["ends_in_s"] < 4000
    # Another node of the same job, and two tasks one after the other: all on the same lease.
    again = slurm.call("cupool-prolog", 7, **asks)
    assert again.returncode == 0
    for _ in range(2):
        assert slurm.task(7) == f"6 {lease['lease_id']}"
    assert [each["lease_id"] for each in slurm.pool.status()["leases"]] == [lease["lease_id"]]
    for _ in range(2):  # the second node has nothing left to release
        assert slurm.call("cupool-epilog", 7).returncode == 0
    assert slurm.pool.status()["leases"] == [] and not file.exists()


def test_a_job_that_gets_no_gpus_waits_for_them_itself(slurm: Slurm) -> None:
    assert slurm.call("cupool-prolog", 1, SLURM_JOB_LICENSES="cupool:2").returncode == 0
    second = {"SLURM_JOB_LICENSES": "cupool", "SLURM_JOB_COMMENT": "cupool memory=1GiB"}
    context = {"SLURM_SCRIPT_CONTEXT": "prolog_slurmctld"}
    assert slurm.call("cupool-prolog", 2, **second, **context).returncode == 1
    done = slurm.call("cupool-prolog", 2, **second)
    assert done.returncode == 0 and "will wait for them" in done.stderr
    assert slurm.exported(2) == {
        "CUPOOL_POOL": slurm.pool.url,
        "CUPOOL_GPUS": "1",
        "CUPOOL_TENANT": "vision",
        "CUPOOL_WAIT": "1d",
        "CUPOOL_MEMORY": "1GiB",
    }
    assert slurm.call("cupool-epilog", 1).returncode == 0
    assert slurm.task(2).startswith("6 ")
    assert slurm.call("cupool-epilog", 2).returncode == 0


def test_a_job_without_the_licence_is_left_alone(slurm: Slurm) -> None:
    for licences in ("", "matlab:2", "cupoolish:1"):
        done = slurm.call("cupool-prolog", 3, SLURM_JOB_LICENSES=licences)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert slurm.exported(3) == {}
    assert slurm.call("cupool-epilog", 3).returncode == 0
    assert slurm.pool.status()["leases"] == []
