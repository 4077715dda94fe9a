"""The errors people meet. Text: `who: what is wrong, with the values; what to do`."""


class NibblegradError(Exception):
    """Every error that nibblegrad raises on purpose."""


class ShapeError(NibblegradError):
    """Sizes that do not fit together."""


class DTypeError(NibblegradError):
    """An element type that the operation does not take."""


class FormatError(NibblegradError):
    """A file or text that is not what it should be."""


class PlanError(NibblegradError):
    """A recorded plan used in a way it was not recorded for."""


class DeviceError(NibblegradError):
    """No device, a lost device, or one that cannot do what was asked."""
