"""Model and data files: header bytes in, names, shapes and offsets out. Weights never pass here."""
