"""k-means clustering of handwritten digits.

Groups the 1797 pictures of scikit-learn's digits into ten clusters, without being told which
digit a picture shows, and then looks how well the clusters match the digits.

    python examples/kmeans.py

Figures:
    iterations  until no centre moved any more, rounded up to the next look at it
    inertia     sum of the squared distances of all pictures to their cluster's centre
    purity      share of pictures that show the most frequent digit of their cluster
"""

import argparse

import cupy as cp
import numpy as np
from sklearn.datasets import load_digits

LOOK_EVERY = 10  # iterations between two looks at the result: each look waits for the GPU


def squared_distances(points, centres):
    """Of every point to every centre, by |p - c|^2 = |p|^2 - 2 p.c + |c|^2."""
    return (
        (points * points).sum(axis=1)[:, None]
        - 2 * (points @ centres.T)
        + (centres * centres).sum(axis=1)
    )


def membership(labels, clusters, dtype):
    """A matrix with a 1 where a point (row) belongs to a cluster (column)."""
    return (labels[:, None] == cp.arange(clusters)).astype(dtype)


def step(points, centres):
    """Move every centre to the mean of the points that are nearest to it."""
    labels = squared_distances(points, centres).argmin(axis=1)
    member = membership(labels, len(centres), points.dtype)
    sizes = member.sum(axis=0)[:, None]
    means = (member.T @ points) / cp.maximum(sizes, 1)
    return cp.where(sizes > 0, means, centres)  # an empty cluster stays where it is


def cluster(points, centres, most):
    for iteration in range(1, most + 1):
        moved = step(points, centres)
        # Only a look at the numbers makes Python wait for the GPU, so look seldom.
        if iteration % LOOK_EVERY == 0 and float(cp.abs(moved - centres).max()) == 0:
            return moved, iteration
        centres = moved
    return centres, most


def main():
    parser = argparse.ArgumentParser(description="k-means clustering of handwritten digits")
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=100, help="stop after this many")
    parser.add_argument("--seed", type=int, default=0, help="chooses the first centres")
    args = parser.parse_args()

    digits = load_digits()
    first = np.random.default_rng(args.seed).choice(len(digits.data), args.clusters, replace=False)
    points = cp.asarray(digits.data)
    truth = cp.asarray(digits.target)

    centres, iterations = cluster(points, points[cp.asarray(first)], args.iterations)

    distances = squared_distances(points, centres)
    labels = distances.argmin(axis=1)
    # Row: cluster, column: digit, entry: how many pictures.
    member = membership(labels, args.clusters, points.dtype)
    table = member.T @ membership(truth, 10, points.dtype)

    print(f"iterations: {iterations}")
    print(f"inertia: {float(distances.min(axis=1).sum()):.10g}")
    print(f"purity: {float(table.max(axis=1).sum()) / len(points):.10g}")


if __name__ == "__main__":
    main()
