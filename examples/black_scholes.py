"""The price of a stock option, by simulation and by formula.

Simulates where a stock may stand in a year, a million times, and averages what the right to buy
it (call) or to sell it (put) at a fixed price would then pay. For these two the formula of Black
and Scholes is known, so the simulation can be judged. The last one, on the average price of the
year, has no such formula.

    python examples/black_scholes.py
    python examples/black_scholes.py --paths 10000000

Figures:
    call, put              simulated price
    call_error, put_error  standard error of it: the true price is rarely further than 3 of these
    call_exact, put_exact  price by the formula
    asian, asian_error     simulated price of the call on the average price, with its error, from
                           a tenth of the paths
"""

import argparse
import math

import cupy as cp

STOCK, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.03, 0.25, 1.0
MONTHS = 12


def exact_prices():
    """Call and put by the formula, on the host."""

    def normal(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))

    spread = VOLATILITY * math.sqrt(YEARS)
    d1 = (math.log(STOCK / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / spread
    paid_later = STRIKE * math.exp(-RATE * YEARS)
    call = STOCK * normal(d1) - paid_later * normal(d1 - spread)
    return call, call - STOCK + paid_later


def final_prices(rng, paths):
    """Where the stock stands at the end."""
    moves = rng.standard_normal(paths)
    drift = (RATE - VOLATILITY**2 / 2) * YEARS
    return STOCK * cp.exp(drift + VOLATILITY * math.sqrt(YEARS) * moves)


def average_prices(rng, paths):
    """Mean of the stock's prices at the end of each month."""
    month = YEARS / MONTHS
    drift = (RATE - VOLATILITY**2 / 2) * month
    logarithm = cp.zeros(paths)
    total = cp.zeros(paths)
    for _ in range(MONTHS):
        logarithm += drift + VOLATILITY * math.sqrt(month) * rng.standard_normal(paths)
        total += cp.exp(logarithm)
    return STOCK * total / MONTHS


def show(name, payoff):
    """The price is the mean payoff, in today's money."""
    today = math.exp(-RATE * YEARS)
    mean, deviation = float(payoff.mean()), float(payoff.std())
    print(f"{name}: {today * mean:.8g}")
    print(f"{name}_error: {today * deviation / math.sqrt(len(payoff)):.8g}")


def main():
    parser = argparse.ArgumentParser(description="option prices by simulation and by formula")
    parser.add_argument("--paths", type=int, default=1_000_000, help="simulated years")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    rng = cp.random.default_rng(args.seed)  # the numbers are drawn on the GPU
    final = final_prices(rng, args.paths)
    call, put = exact_prices()

    show("call", cp.maximum(final - STRIKE, 0))
    print(f"call_exact: {call:.10g}")
    show("put", cp.maximum(STRIKE - final, 0))
    print(f"put_exact: {put:.10g}")
    show("asian", cp.maximum(average_prices(rng, args.paths // 10) - STRIKE, 0))


if __name__ == "__main__":
    main()
