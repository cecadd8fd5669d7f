"""Dialogs: what a person fills in before something is begun or changed."""
