"""Bots that follow a written rule: the yardsticks of the league."""
