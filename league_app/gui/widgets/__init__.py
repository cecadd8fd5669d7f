"""Parts that show and emit; they hold no facts about the league."""
