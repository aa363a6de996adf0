"""The broker: who gets which device, for how long. Open `state.py` first.

In: requests of clients, news of servers, the time. Out: grants, refusals, commands to servers.
`state.py` and `policy.py` do no I/O; `service.py` is the gRPC shell around them.
"""
