"""The pool of local worker processes behind the executor `local`.

The `Dispatcher` runs a `Scheduler` in a thread; the scheduler sends matches to workers (`WorkerHandle`), each of which
runs a `WorkerLoop` (`main`). `messages` defines what they exchange.
"""
