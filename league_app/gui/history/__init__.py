"""The History page, with one view each for matches, tournaments and failures."""
