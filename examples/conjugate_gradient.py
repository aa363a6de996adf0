"""Conjugate gradients: bring back the lost pixels of a photograph.

Two thirds of the pixels of scikit-image's photograph are thrown away. Each lost one is to become
the mean of its four neighbours, lost or not: a system of 170 000 linear equations. Its matrix is
never written down; conjugate gradients only ask what it does to a vector.

    python examples/conjugate_gradient.py --out restored.png

Figures:
    unknowns         lost pixels
    iterations       until the residual was small enough, rounded up to the next look at it
    residual         what is left of the right hand side, relative to it
    error_restored   root mean square difference of restored pixels to the true ones, which go
                     from 0 to 255
    error_mean       the same if all lost pixels were painted in the mean grey
"""

import argparse

import cupy as cp
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage.data import camera

LOOK_EVERY = 10  # iterations between two looks at the residual: each look waits for the GPU
GAP, CAPTION = 12, 28


def difference_to_neighbours(picture):
    """For every pixel the sum of its differences to the neighbours that it has."""
    result = cp.zeros_like(picture)
    down = picture[1:] - picture[:-1]
    right = picture[:, 1:] - picture[:, :-1]
    result[:-1] -= down
    result[1:] += down
    result[:, :-1] -= right
    result[:, 1:] += right
    return result


def conjugate_gradients(matrix, right_side, tolerance, most):
    """Solve matrix(x) = right_side, for a symmetric positive definite matrix.

    The step sizes are arrays of one element that never leave the GPU.
    """
    x = cp.zeros_like(right_side)
    residual = right_side.copy()
    direction = residual.copy()
    square = start = (residual * residual).sum()
    for iteration in range(1, most + 1):
        change = matrix(direction)
        length = square / (direction * change).sum()
        x += length * direction
        residual -= length * change
        before, square = square, (residual * residual).sum()
        if iteration % LOOK_EVERY == 0 and float(square / start) <= tolerance**2:
            break
        direction *= square / before
        direction += residual
    return x, iteration, float(cp.sqrt(square / start))


def restore(photo, lost, tolerance, most):
    """Known pixels stay, lost ones become the mean of their neighbours."""
    known = cp.where(lost, 0, photo)

    def matrix(picture):
        return cp.where(lost, difference_to_neighbours(picture), 0)

    solved, iterations, residual = conjugate_gradients(matrix, -matrix(known), tolerance, most)
    return known + solved, iterations, residual


def error(picture, photo, lost, unknowns):
    """Root mean square over the lost pixels."""
    difference = cp.where(lost, picture - photo, 0)
    return float(cp.sqrt((difference * difference).sum() / unknowns))


def side_by_side(panels):
    height, width = panels[0][1].shape
    sheet = Image.new("L", (len(panels) * (width + GAP) + GAP, height + CAPTION + GAP), 255)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=16)
    for number, (caption, panel) in enumerate(panels):
        left = GAP + number * (width + GAP)
        pixels = cp.asnumpy(cp.clip(cp.rint(panel), 0, 255).astype(cp.uint8))
        draw.text((left, 5), caption, fill=0, font=font)
        sheet.paste(Image.fromarray(pixels), (left, CAPTION))
    return sheet


def main():
    parser = argparse.ArgumentParser(description="restore lost pixels by conjugate gradients")
    parser.add_argument("--out", metavar="FILE", help="write the pictures to this PNG file")
    parser.add_argument("--lost", type=float, default=0.65, help="share of pixels to throw away")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="residual to reach")
    parser.add_argument("--iterations", type=int, default=1000, help="stop after this many")
    parser.add_argument("--seed", type=int, default=0, help="chooses the lost pixels")
    args = parser.parse_args()

    host = camera()
    photo = cp.asarray(host).astype(cp.float64)
    lost = cp.asarray(np.random.default_rng(args.seed).random(host.shape) < args.lost)
    unknowns = int(lost.sum())
    restored, iterations, residual = restore(photo, lost, args.tolerance, args.iterations)
    mean = cp.where(lost, 0, photo).sum() / (photo.size - unknowns)

    print(f"unknowns: {unknowns}")
    print(f"iterations: {iterations}")
    print(f"residual: {residual:.3e}")
    print(f"error_restored: {error(restored, photo, lost, unknowns):.10g}")
    print(f"error_mean: {error(mean, photo, lost, unknowns):.10g}")
    if args.out:
        kept = cp.where(lost, 0, photo)
        panels = [("kept pixels", kept), ("restored", restored), ("photograph", photo)]
        side_by_side(panels).save(args.out)


if __name__ == "__main__":
    main()
