"""Rows and columns for Qt, made of what a league says."""
