"""The heat equation: hot coins cool down on a cold table.

The brightness of scikit-image's photograph of coins is taken as the temperature, 0 to 100
degrees. In every step, heat flows between neighbouring points, in proportion to their difference.
No heat leaves through the edges, so the mean temperature stays as it is.

    python examples/heat_equation.py --out cooling.png

Figures, the first three for each moment that the picture shows (0, 20, 200 and 1000 steps):
    hottest_0, ...         highest temperature
    coldest_0, ...         lowest temperature
    spread_0, ...          standard deviation of the temperature
    mean_first, mean_last  mean temperature, which only rounding can change

The PNG shows the moments side by side, on one scale of colours.
"""

import argparse

import cupy as cp
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage.data import coins

MOMENTS = (0, 20, 200, 1000)
RATE = 0.2  # heat that flows per step and degree; above 0.25 the scheme is unstable
# From cold to hot: black, violet, red, orange, pale yellow.
COLOURS = ((4, 4, 20), (82, 18, 124), (187, 55, 84), (250, 146, 40), (252, 253, 191))
GAP, CAPTION, SCALE = 12, 28, 44


def step(heat):
    """One step, in place. What leaves a point arrives at its neighbour."""
    down = RATE * (heat[1:] - heat[:-1])
    right = RATE * (heat[:, 1:] - heat[:, :-1])
    heat[:-1] += down
    heat[1:] -= down
    heat[:, :-1] += right
    heat[:, 1:] -= right


def cool(heat):
    """The temperatures at each of the moments."""
    seen, done = [], 0
    for moment in MOMENTS:
        while done < moment:
            step(heat)
            done += 1
        seen.append(heat.copy())
    return seen


def summary(seen):
    """Hottest, coldest, spread and mean of each moment, fetched from the GPU all at once."""
    rows = [cp.stack([heat.max(), heat.min(), heat.std(), heat.mean()]) for heat in seen]
    return cp.asnumpy(cp.stack(rows)).tolist()


def palette():
    """256 colours between the given ones."""
    place = np.linspace(0, 1, len(COLOURS))
    levels = np.linspace(0, 1, 256)
    channels = [np.interp(levels, place, channel) for channel in zip(*COLOURS, strict=True)]
    return np.stack(channels, axis=1).round().astype(np.uint8)


def coloured(heat, colours):
    """Look every point's colour up on the GPU; fetch the finished picture."""
    level = cp.clip(cp.rint(heat * 2.55), 0, 255).astype(cp.int32)
    return Image.fromarray(cp.asnumpy(colours[level]))


def picture(seen):
    colours = palette()
    on_device = cp.asarray(colours)
    panels = [coloured(heat, on_device) for heat in seen]
    width, height = panels[0].size
    size = (len(panels) * (width + GAP) + GAP, CAPTION + height + SCALE)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=16)
    for number, (moment, panel) in enumerate(zip(MOMENTS, panels, strict=True)):
        left = GAP + number * (width + GAP)
        draw.text((left, 5), f"after {moment} steps", fill="black", font=font)
        sheet.paste(panel, (left, CAPTION))
    bar = Image.fromarray(colours[None]).resize((width, 14))
    top = CAPTION + height + GAP
    sheet.paste(bar, (GAP, top))
    draw.text((GAP + width + 8, top - 3), "0 to 100 degrees", fill="black", font=font)
    return sheet


def main():
    parser = argparse.ArgumentParser(description="hot coins cool down")
    parser.add_argument("--out", metavar="FILE", help="write the picture to this PNG file")
    args = parser.parse_args()

    start = cp.asarray(coins()).astype(cp.float64)
    start *= 100 / start.max()
    seen = cool(start)

    figures = summary(seen)
    for moment, (hottest, coldest, spread, _) in zip(MOMENTS, figures, strict=True):
        print(f"hottest_{moment}: {hottest:.10g}")
        print(f"coldest_{moment}: {coldest:.10g}")
        print(f"spread_{moment}: {spread:.10g}")
    print(f"mean_first: {figures[0][3]:.10g}")
    print(f"mean_last: {figures[-1][3]:.10g}")
    if args.out:
        picture(seen).save(args.out)


if __name__ == "__main__":
    main()
