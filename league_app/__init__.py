"""What a person sees: the command line, and the window on the same league."""
