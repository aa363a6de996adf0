"""`cupool hold`: a lease for a job whose processes come later, as batch systems need it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cupool.errors import ConfigurationError

_LEAST_KEY_BYTES = 16


def hold(
    context: typer.Context,
    job: Annotated[str, typer.Option(help="Id of the job; empty: a new one.")] = "",
    key_file: Annotated[
        str,
        typer.Option(help="The job's token is derived from this file's bytes, and the id."),
    ] = "",
) -> None:
    """Get GPUs for a job and print its environment, NAME=VALUE in lines; takes `run`'s options.

    The lease stays until `cupool release LEASE`, or until --max-time, which must be given. For a
    job that has a lease already, it is that one.
    """
    from cupool import jobs
    from cupool.cli import launch
    from cupool.client_shim import lease
    from cupool.config import load

    flags = launch.flags_of(context.args)
    settings = load(flags).settings
    if not settings.pool:
        raise ConfigurationError("no pool is configured", remedy="cupool hold --pool URL ...")
    if not settings.max_time:
        raise ConfigurationError(
            "a lease that is held must have an end", remedy="cupool hold --max-time 4h ..."
        )
    if bool(job) != bool(key_file):
        raise ConfigurationError("--job and --key-file go together")
    os.environ.pop("CUPOOL_LEASE", None)
    jobs.begin(os.environ)
    if job:
        os.environ["CUPOOL_JOB"] = job
        os.environ["CUPOOL_JOB_TOKEN"] = jobs.token_of(_key(key_file), job)
    got = lease.acquire(settings, hold=True)
    lines = {
        "CUPOOL_POOL": settings.pool,
        "CUPOOL_GPUS": str(len(got.devices)),
        "CUPOOL_JOB": os.environ["CUPOOL_JOB"],
        "CUPOOL_JOB_TOKEN": os.environ["CUPOOL_JOB_TOKEN"],
        "CUPOOL_LEASE": got.lease_id,
    }
    sys.stdout.writelines(f"{name}={value}\n" for name, value in lines.items())


def _key(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            key = file.read(4096)
    except OSError as exc:
        raise ConfigurationError(f"the key {path} cannot be read: {exc.strerror}") from None
    if len(key) < _LEAST_KEY_BYTES:
        raise ConfigurationError(
            f"the key {path} is shorter than {_LEAST_KEY_BYTES} bytes",
            remedy=f"make one:   head -c 32 /dev/urandom > {path}; chmod 400 {path}",
        )
    return key
