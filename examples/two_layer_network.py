"""A two-layer neural network that learns to read handwritten digits.

Forward and backward pass are written out by hand, with nothing but array operations. The first
1500 pictures of scikit-learn's digits are learned, the other 297 test what was understood.

    python examples/two_layer_network.py
    python examples/two_layer_network.py --epochs 100 --hidden 128

Figures:
    loss_10, loss_20, ...  mean cross-entropy of the tenth, twentieth, ... pass over the pictures
    train_accuracy         share of the learned pictures that are read correctly in the end
    test_accuracy          share of the pictures never seen before
"""

import argparse

import cupy as cp
import numpy as np
from sklearn.datasets import load_digits

TRAINED = 1500
BATCH = 125
MOMENTUM = 0.9


def initial_weights(rng, inputs, hidden, outputs):
    """Small random weights, drawn on the host so that every run starts from the same ones."""

    def layer(rows, columns):
        spread = np.sqrt(2 / rows)
        return cp.asarray(rng.normal(0, spread, (rows, columns)).astype(np.float32))

    def offsets(columns):
        return cp.zeros(columns, dtype=cp.float32)

    return [layer(inputs, hidden), offsets(hidden), layer(hidden, outputs), offsets(outputs)]


def forward(weights, pictures):
    """The hidden layer's values, and for every picture the probability of each digit."""
    w1, b1, w2, b2 = weights
    hidden = cp.maximum(pictures @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    scores -= scores.max(axis=1, keepdims=True)  # keeps exp() from overflowing
    likely = cp.exp(scores)
    likely /= likely.sum(axis=1, keepdims=True)
    return hidden, likely


def loss_and_gradients(weights, pictures, wanted):
    """`wanted` has a 1 in the column of the digit that a picture shows."""
    hidden, likely = forward(weights, pictures)
    loss = -cp.log((likely * wanted).sum(axis=1)).mean()
    error = (likely - wanted) / len(pictures)
    hidden_error = (error @ weights[2].T) * (hidden > 0)
    gradients = [
        pictures.T @ hidden_error,
        hidden_error.sum(axis=0),
        hidden.T @ error,
        error.sum(axis=0),
    ]
    return loss, gradients


def train(weights, pictures, wanted, epochs, rate, rng):
    """Improve `weights` in place."""
    velocities = [cp.zeros_like(w) for w in weights]
    batches = len(pictures) // BATCH
    for epoch in range(1, epochs + 1):
        order = cp.asarray(rng.permutation(len(pictures)))
        total = 0
        for number in range(batches):
            chosen = order[number * BATCH : (number + 1) * BATCH]
            loss, gradients = loss_and_gradients(weights, pictures[chosen], wanted[chosen])
            for weight, velocity, gradient in zip(weights, velocities, gradients, strict=True):
                velocity *= MOMENTUM
                velocity -= rate * gradient
                weight += velocity
            total = total + loss  # stays on the GPU; float(loss) here would wait every time
        if epoch % 10 == 0:
            print(f"loss_{epoch}: {float(total) / batches:.8g}")


def accuracy(weights, pictures, digits):
    _, likely = forward(weights, pictures)
    return float((likely.argmax(axis=1) == digits).mean())


def main():
    parser = argparse.ArgumentParser(description="a neural network that reads digits")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the pictures")
    parser.add_argument("--hidden", type=int, default=64, help="size of the hidden layer")
    parser.add_argument("--rate", type=float, default=0.05, help="learning rate")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    data = load_digits()
    pictures = cp.asarray((data.data / 16).astype(np.float32))  # pixels go from 0 to 16
    digits = cp.asarray(data.target)
    wanted = (digits[:, None] == cp.arange(10)).astype(cp.float32)

    rng = np.random.default_rng(args.seed)
    weights = initial_weights(rng, pictures.shape[1], args.hidden, 10)
    train(weights, pictures[:TRAINED], wanted[:TRAINED], args.epochs, args.rate, rng)

    print(f"train_accuracy: {accuracy(weights, pictures[:TRAINED], digits[:TRAINED]):.8g}")
    print(f"test_accuracy: {accuracy(weights, pictures[TRAINED:], digits[TRAINED:]):.8g}")


if __name__ == "__main__":
    main()
