"""The Match page: one live or recorded match with its header, board, playback controls and details."""
