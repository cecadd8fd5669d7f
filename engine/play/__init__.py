"""Matches: what one is (`match`), how many are played at once (`arena`), by whom (`executors`), again (`replay`)."""
