"""The recorded calls of the .pte fixtures."""

import numpy as np
from pte_files import DATA, RAW

NAMES = sorted(RAW)


def cases(name):
    """(method, inputs, outputs) of each recorded call, in order."""
    arrays, found = np.load(DATA / f"{name}.npz"), {}
    for key in sorted(arrays):
        method, number, what, at = key.split("/")
        found.setdefault((method, int(number)), {}).setdefault(what, {})[int(at)] = arrays[key]
    for (method, _), sets in sorted(found.items()):
        yield (method, *([s[i] for i in sorted(s)] for s in (sets["in"], sets["out"])))
