"""Device back ends: `base` is the interface, one file or package for each kind.

In: operations with real arguments. Out: arrays of the device. Open `base.py` first.
"""
