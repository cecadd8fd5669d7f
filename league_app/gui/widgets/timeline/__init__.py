"""A timeline of bars in rows: `TimelineWidget` is the widget, `spans` its data, `picture` the drawing."""
