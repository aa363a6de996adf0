"""The array class, the ufunc class, and how they speak to the session. Open `core.py` first."""
