"""Child processes: one class starts them, exchanges messages with them and ends them. Knows no matches.

A child process calls a function with its end of the connection, and arguments that can be pickled:

    def serve(end: socket.socket, name: str) -> int:  # in mypackage/child.py; returns the exit status
        channel = Channel(end)
        channel.send(["hello", name])
        ...

    with ChildProcess("mypackage.child:serve", "worker 1", setup=ChildSetup(memory=1 << 30)) as child:
        child.send(["play", 3], payload)
        for fields, body in child.receive():  # raises ChildEnded when it has died, with the end of what it printed
            ...

- `child.py` has `ChildProcess`, the parent's side; `bootstrap.py` the child's side, and `ChildSetup`.
- `channel.py` defines the messages: a JSON list and bytes.
- `launcher.py` starts the processes. `ChildSetup.server` and `libraries` select a fork server, which has imported what
  its children need; there is one for each combination, and only a server that was asked for torch imports it.
- `output.py` and `process_tree.py` read what it prints, and end its descendants.
"""
