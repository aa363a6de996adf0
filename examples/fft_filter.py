"""Clean a striped photograph in the frequency domain.

Two sine waves are laid over a photograph of scikit-image, as bad cables do it to a video signal.
Across the picture they are everywhere; in its Fourier transform they are a few bright dots. The
dots are found and put out, and the photograph is back.

    python examples/fft_filter.py --out cleaned.png

Figures:
    frequencies     entries of the transform that were put out
    error_striped   root mean square difference to the photograph (pixels go from 0 to 255)
    error_cleaned   the same after cleaning

The PNG shows the striped picture, the middle of its transform (with logarithmic brightness and
the dots in white) and the result.
"""

import argparse

import cupy as cp
from PIL import Image, ImageDraw, ImageFont
from skimage.data import camera

WAVES = ((41, 23, 30.0), (12, -67, 22.0))  # cycles down, cycles across, amplitude
LOW = 8  # the picture itself lives at the low frequencies: those are never touched
RING = [(-3, 0), (3, 0), (0, -3), (0, 3), (-2, -2), (-2, 2), (2, -2), (2, 2)]
CAPTION = 28


def add_stripes(photo):
    height, width = photo.shape
    down = cp.arange(height)[:, None] / height
    across = cp.arange(width) / width
    striped = photo.copy()
    for cycles_down, cycles_across, amplitude in WAVES:
        striped += amplitude * cp.sin(2 * cp.pi * (cycles_down * down + cycles_across * across))
    return striped


def find_dots(magnitude, ratio):
    """Where the transform is far brighter than around it. True there, and next to there."""
    height, width = magnitude.shape
    around = sum(cp.roll(magnitude, shift, axis=(0, 1)) for shift in RING) / len(RING)
    row = cp.abs(cp.fft.fftfreq(height) * height)[:, None]
    column = cp.abs(cp.fft.fftfreq(width) * width)
    dots = (magnitude > ratio * around) & (cp.hypot(row, column) > LOW)
    for axis in (0, 1):
        dots = dots | cp.roll(dots, 1, axis=axis) | cp.roll(dots, -1, axis=axis)
    return dots


def clean(picture, ratio):
    """The cleaned picture, the magnitude of the transform, and the dots that were put out."""
    transform = cp.fft.fft2(picture)
    magnitude = cp.abs(transform)
    dots = find_dots(magnitude, ratio)
    return cp.fft.ifft2(cp.where(dots, 0, transform)).real, magnitude, dots


def root_mean_square(difference):
    return float(cp.sqrt((difference * difference).mean()))


def grey(values):
    """Brightness 0 to 255, as a picture on the host."""
    return Image.fromarray(cp.asnumpy(cp.clip(cp.rint(values), 0, 255).astype(cp.uint8)))


def portrait(magnitude, dots):
    """The low half of the frequencies, the lowest in the middle, each as large as 2 x 2 pixels."""
    logarithm = cp.log1p(magnitude)
    darkest, brightest = logarithm.mean(), logarithm.max()
    values = cp.where(dots, 255, 200 * (logarithm - darkest) / (brightest - darkest))
    height, width = values.shape
    middle = cp.fft.fftshift(values)[height // 4 : -(height // 4), width // 4 : -(width // 4)]
    return middle.repeat(2, axis=0).repeat(2, axis=1)


def side_by_side(panels):
    """One picture of several, each under its caption."""
    width, height = panels[0][1].size
    gap = 12
    sheet = Image.new("L", (len(panels) * (width + gap) + gap, height + CAPTION + gap), 255)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=16)
    for number, (caption, panel) in enumerate(panels):
        left = gap + number * (width + gap)
        draw.text((left, 5), caption, fill=0, font=font)
        sheet.paste(panel, (left, CAPTION))
    return sheet


def main():
    parser = argparse.ArgumentParser(description="clean a striped photograph by FFT")
    parser.add_argument("--out", metavar="FILE", help="write the pictures to this PNG file")
    parser.add_argument(
        "--ratio", type=float, default=8.0, help="how much brighter than around it a dot is"
    )
    args = parser.parse_args()

    photo = cp.asarray(camera()).astype(cp.float64)
    striped = add_stripes(photo)
    cleaned, magnitude, dots = clean(striped, args.ratio)

    print(f"frequencies: {int(dots.sum())}")
    print(f"error_striped: {root_mean_square(striped - photo):.10g}")
    print(f"error_cleaned: {root_mean_square(cleaned - photo):.10g}")
    if args.out:
        panels = [
            ("striped photograph", grey(striped)),
            ("middle of its transform, dots in white", grey(portrait(magnitude, dots))),
            ("cleaned photograph", grey(cleaned)),
        ]
        side_by_side(panels).save(args.out)


if __name__ == "__main__":
    main()
