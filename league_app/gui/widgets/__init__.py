"""Reusable widgets. They show values and emit signals, and know nothing about leagues."""
