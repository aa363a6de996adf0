"""Read handwritten digits on three GPUs at once.

Every picture is read as the digit of its nearest neighbour among the known pictures. The known
ones go to each GPU, the others are dealt out among the GPUs. Nothing waits until all of them have
their work; then the answers are fetched.

    python examples/three_gpus.py

With fewer than three GPUs it says so and uses what is there. The answers stay the same.

Figures:
    gpus              how many shared the work
    read_0, ...       pictures that each part had
    correct_0, ...    pictures of each part that were read correctly
    accuracy          share of all
"""

import argparse
import sys

import cupy as cp
import numpy as np
from sklearn.datasets import load_digits

PARTS = 3
KNOWN = 1000


def nearest(pictures, known, digits):
    """The digit of the nearest known picture. Runs on the current GPU."""
    distances = (
        (pictures * pictures).sum(axis=1)[:, None]
        - 2 * (pictures @ known.T)
        + (known * known).sum(axis=1)
    )
    return digits[distances.argmin(axis=1)]


def read_on_gpus(parts, known, digits, gpus):
    """Start the work on every GPU, then collect the answers."""
    started = []
    for number, pictures in enumerate(parts):
        with cp.cuda.Device(number % gpus):
            # asarray puts the data on the GPU that is current here.
            answer = nearest(cp.asarray(pictures), cp.asarray(known), cp.asarray(digits))
        started.append(answer)
    return [cp.asnumpy(answer) for answer in started]


def main():
    parser = argparse.ArgumentParser(description="read digits on three GPUs")
    parser.parse_args()

    there = cp.cuda.runtime.getDeviceCount()
    gpus = min(there, PARTS)
    if there < PARTS:
        print(f"{there} of {PARTS} GPUs here: the work is dealt out among them.", file=sys.stderr)

    data = load_digits()
    known, digits = data.data[:KNOWN], data.target[:KNOWN]
    parts = np.array_split(data.data[KNOWN:], PARTS)
    truths = np.array_split(data.target[KNOWN:], PARTS)
    answers = read_on_gpus(parts, known, digits, gpus)

    print(f"gpus: {gpus}")
    for number, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        print(f"read_{number}: {len(answer)}")
        print(f"correct_{number}: {int((answer == truth).sum())}")
    print(f"accuracy: {np.mean(np.concatenate(answers) == np.concatenate(truths)):.10g}")


if __name__ == "__main__":
    main()
