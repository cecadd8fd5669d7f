"""The league file, an SQLite database: schema, lock, row conversion, and a store for each kind of record."""
