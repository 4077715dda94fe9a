"""What all else stands on: dtypes, shapes, schemas, launches, errors. Standard library only."""
