"""Leagues: tournament formats, schedules, ratings, standings, and the file that stores them (`storage`)."""
