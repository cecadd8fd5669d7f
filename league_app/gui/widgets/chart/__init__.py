"""A line chart on pyqtgraph: `Chart` is the widget, `series` its data and arithmetic, `plot` the drawing,
`labels` the texts over it."""
