"""Starts child processes, sets them up, exchanges messages with them and detects how they end. Knows no matches."""
