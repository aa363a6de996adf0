"""The Mandelbrot set by a kernel of one's own: a thread for each point, in CUDA C++.

Each thread repeats z = z * z + c for its point c until |z| exceeds 2, and writes how often it did.
An elementwise kernel turns these counts into grey levels. With --arrays the same figures are made
by array functions alone: all points are repeated together until the last one is done.

    python examples/mandelbrot.py --out mandelbrot.png

Figures:
    inside        points that have not escaped after all steps
    mean_steps    steps of a point, on average
    late          points that escape after more than 50 steps
    grey          mean grey level, 0 to 255

The PNG shows the points that escape early dark, those that escape late bright, and the set black.
"""

import argparse

import cupy as cp
from PIL import Image

WIDTH, HEIGHT, STEPS = 600, 400, 200
LEFT, TOP, PITCH = -2.0, -1.0, 0.005  # of the complex plane: the corner, and a pixel
SOURCE = r"""
extern "C" __global__ void escape(
    int* counts, int width, int height, double left, double top, double pitch, int steps) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;
  double real = left + column * pitch, imag = top + row * pitch;
  double x = 0, y = 0;
  int count = 0;
  while (count < steps && x * x + y * y <= 4) {
    double next = x * x - y * y + real;
    y = 2 * x * y + imag;
    x = next;
    ++count;
  }
  counts[row * width + column] = count;
}
"""


def count_by_kernel():
    """Steps of each point, by one launch of a kernel."""
    # Multiplications and additions stay apart, as in array functions: the figures are the same.
    kernel = cp.RawKernel(SOURCE, "escape", options=("--fmad=false",))
    counts = cp.empty((HEIGHT, WIDTH), dtype=cp.int32)
    block = (16, 16)
    grid = (-(-WIDTH // block[0]), -(-HEIGHT // block[1]))
    numbers = (cp.int32(WIDTH), cp.int32(HEIGHT), LEFT, TOP, PITCH, cp.int32(STEPS))
    kernel(grid, block, (counts, *numbers))
    return counts


def count_by_arrays():
    """Steps of each point, by array functions."""
    real = (LEFT + cp.arange(WIDTH) * PITCH)[None, :]
    imag = (TOP + cp.arange(HEIGHT) * PITCH)[:, None]
    x, y = cp.zeros((HEIGHT, WIDTH)), cp.zeros((HEIGHT, WIDTH))
    counts = cp.zeros((HEIGHT, WIDTH), dtype=cp.int32)
    for _ in range(STEPS):
        here = x * x + y * y <= 4
        counts += here
        x, y = cp.where(here, x * x - y * y + real, x), cp.where(here, 2 * x * y + imag, y)
    return counts


def grey_by_kernel(counts):
    level = cp.ElementwiseKernel(
        "int32 count, int32 steps",
        "uint8 grey",
        "grey = count == steps ? 0 : min(255, 4 * count)",
        "grey_level",
    )
    return level(counts, STEPS)


def grey_by_arrays(counts):
    return cp.where(counts == STEPS, 0, cp.minimum(255, 4 * counts)).astype(cp.uint8)


def main():
    parser = argparse.ArgumentParser(description="the Mandelbrot set")
    parser.add_argument("--arrays", action="store_true", help="by array functions, no kernel")
    parser.add_argument("--out", metavar="FILE", help="write the picture to this PNG file")
    args = parser.parse_args()

    counts = count_by_arrays() if args.arrays else count_by_kernel()
    grey = grey_by_arrays(counts) if args.arrays else grey_by_kernel(counts)
    inside = counts == STEPS
    print(f"inside: {int(inside.sum())}")
    print(f"mean_steps: {float(counts.mean()):.10g}")
    print(f"late: {int(((counts > 50) & ~inside).sum())}")
    print(f"grey: {float(grey.mean()):.10g}")
    if args.out:
        Image.fromarray(cp.asnumpy(grey)).save(args.out)


if __name__ == "__main__":
    main()
