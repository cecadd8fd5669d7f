"""The lineage of a population. `Lineage` holds individuals and parents, `LineageWidget` shows them."""
