"""Exceptions: one type for each status code of the runtime.

The message is the runtime's. It says what was expected and what was found.
"""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions of this package."""

    code: str = "Internal"
    """The name of the status code, for example "InvalidArgument"."""


class InvalidArgumentError(Error, ValueError):
    """The input is wrong in any state."""

    code = "InvalidArgument"


class NotFoundError(Error, LookupError):
    """A named thing does not exist."""

    code = "NotFound"


class OutOfRangeError(Error, IndexError):
    """An index or a size is past its bound."""

    code = "OutOfRange"


class ResourceExhaustedError(Error, MemoryError):
    """Memory, a limit or a budget ran out."""

    code = "ResourceExhausted"


class DataLossError(Error):
    """Stored bytes are corrupt or truncated."""

    code = "DataLoss"


class FailedPreconditionError(Error, RuntimeError):
    """The object is not in the state that the call needs."""

    code = "FailedPrecondition"


class UnimplementedError(Error, NotImplementedError):
    """A valid request for something that is not supported."""

    code = "Unimplemented"


class UnavailableError(Error):
    """The call may succeed later, for example when a device is no longer busy."""

    code = "Unavailable"


class InternalError(Error):
    """A broken invariant, which is a bug."""

    code = "Internal"


class CompileError(FailedPreconditionError):
    """mtp-import or mtpc failed. `lines` are the lines that it wrote."""

    lines: tuple[str, ...] = ()


_TYPES: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        NotFoundError,
        OutOfRangeError,
        ResourceExhaustedError,
        DataLossError,
        FailedPreconditionError,
        UnimplementedError,
        UnavailableError,
        InternalError,
    )
}


def from_status(code: str, message: str) -> Error:
    """Returns the exception for a status. The extension calls it."""
    return _TYPES.get(code, InternalError)(message)
