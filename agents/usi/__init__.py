"""External engines that speak USI, as agents.

`engine_spec` is the payload of such an agent; `supervisor` and `process` run the program and make sure that it ends;
`protocol` speaks USI; `approvals` stores which programs the user has confirmed on this machine; `transcript` logs the
messages; `pilot` plays.
"""
