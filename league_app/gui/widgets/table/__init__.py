"""Tables. `TableModel` holds rows and columns, `TableView` shows them; a kind of cell is a delegate."""
