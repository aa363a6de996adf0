"""Session workers: one process per session and device. Open `worker.py` first."""
