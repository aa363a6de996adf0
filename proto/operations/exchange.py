"""Copies between devices: the worker of one offers an array, the worker of the other pulls it.

Arguments, in the notation of `proto.values` (`ref` is [ARRAY, handle]):

    offer        ref, tokens                       keep a copy for as many pulls, one for each token
    pull         url, secret, token, giver         -> new array; `giver` is for messages

Requests:

    exchange                                       -> [urls, secret] of this session's offers
    reach        urls, secret                      -> position of the first that answers, or -1
"""

from cupool.proto.operations.operation import Operation

OPERATIONS = (
    Operation("offer", "core", outputs=0),
    Operation("pull", "core"),
    Operation("exchange", "request", outputs=0),
    Operation("reach", "request", outputs=0),
)
