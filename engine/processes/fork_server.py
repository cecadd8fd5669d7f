"""Imported first by every fork server of this program, before numpy and other libraries that read the environment."""

from engine.processes.bootstrap import set_up_server

set_up_server()
