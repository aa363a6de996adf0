"""Simulate a pool: the broker's own placement, on traces and a clock that jumps.

`workload.py` reads traces, `filling.py` fills a pool by arrivals alone, `running.py` lets jobs
come, wait, run, move and go.
"""
