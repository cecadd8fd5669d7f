"""Tournament formats. One is a pure function of (entrants, results so far), and one line under `ringside.formats`."""
