"""The dialogs of the window, one module each. A dialog checks its input and runs its command in the background."""
