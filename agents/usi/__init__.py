"""External engines that speak USI, as agents.

`payload` is what such an agent is made of; `guard` and `process` run the program and see to its end; `protocol` is the
conversation; `approvals` remember which programs a person lets run on this machine; `transcript` writes down what was
said; `pilot` plays.
"""
