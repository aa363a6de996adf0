"""Principal component analysis of handwritten digits.

Finds the few directions in which the 64 pixels of scikit-learn's digits vary most, describes
every picture by its coordinates along them, and draws it again from those alone.

    python examples/pca.py
    python examples/pca.py --components 20

Figures:
    variance_1, variance_2, ...  share of the variance along the first five directions
    variance_kept                share along all kept directions together
    pixel_error                  root mean square difference of a redrawn pixel (they go 0 to 16)
    nearest_kept                 share of pictures whose nearest neighbour, looked up by the kept
                                 coordinates, shows the same digit
"""

import argparse

import cupy as cp
from sklearn.datasets import load_digits

SHOWN = 5


def principal_components(pictures, count):
    """The mean picture, the `count` directions of most variance, and all directions' variances."""
    mean = pictures.mean(axis=0)
    covariance = cp.cov(pictures, rowvar=False)
    variances, directions = cp.linalg.eigh(covariance)  # in ascending order
    return mean, directions[:, ::-1][:, :count], variances[::-1]


def same_digit_nearby(coordinates, digits):
    """Share of pictures whose nearest other picture shows the same digit."""
    square = (coordinates * coordinates).sum(axis=1)
    distances = square[:, None] - 2 * (coordinates @ coordinates.T) + square
    itself = cp.arange(len(coordinates))
    distances[itself, itself] = cp.inf
    return (digits[distances.argmin(axis=1)] == digits).mean()


def main():
    parser = argparse.ArgumentParser(description="principal components of handwritten digits")
    parser.add_argument("--components", type=int, default=10, help="directions to keep, 1 to 64")
    args = parser.parse_args()

    data = load_digits()
    pictures = cp.asarray(data.data)
    digits = cp.asarray(data.target)

    mean, directions, variances = principal_components(pictures, args.components)
    coordinates = (pictures - mean) @ directions
    redrawn = mean + coordinates @ directions.T

    shares = cp.asnumpy(variances / variances.sum())
    pixel_error = cp.sqrt(((pictures - redrawn) ** 2).mean())

    for number, share in enumerate(shares[:SHOWN], start=1):
        print(f"variance_{number}: {share:.10g}")
    print(f"variance_kept: {shares[: args.components].sum():.10g}")
    print(f"pixel_error: {float(pixel_error):.10g}")
    print(f"nearest_kept: {float(same_digit_nearby(coordinates, digits)):.10g}")


if __name__ == "__main__":
    main()
