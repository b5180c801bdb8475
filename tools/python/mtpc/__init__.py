"""mtpc: models compiled with their drafters.

    import mtpc
    model = mtpc.compile("SmolLM2-135M-Instruct.Q4_1.gguf", drafter="suffix", k=4)
    print(model.generate("Once upon a time", max_tokens=64, temperature=0).text)
    for event in model.chat([{"role": "user", "content": "Hello"}], stream=True):
        print(event.text, end="")
"""

from ._core import version as __version__
from .compiler import compile, compile_text, dump, import_model
from .errors import (
    CompileError,
    DataLossError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from .model import Model
from .session import Session
from .stream import Stream
from .tuning import Profile, tune
from .types import (
    AddOptions,
    ChatOptions,
    Completion,
    Envelope,
    Event,
    FunctionType,
    GenerateOptions,
    GenerationDefaults,
    KvUsage,
    Output,
    OutputType,
    RequestOptions,
    SeenDrafts,
    SessionOptions,
    Statistics,
    TensorType,
    TokenLogprob,
    TokenLogprobs,
    ToolCall,
    Update,
)

__all__ = [
    "AddOptions",
    "ChatOptions",
    "CompileError",
    "Completion",
    "DataLossError",
    "Envelope",
    "Error",
    "Event",
    "FailedPreconditionError",
    "FunctionType",
    "GenerateOptions",
    "GenerationDefaults",
    "InternalError",
    "InvalidArgumentError",
    "KvUsage",
    "Model",
    "NotFoundError",
    "OutOfRangeError",
    "Output",
    "OutputType",
    "Profile",
    "RequestOptions",
    "ResourceExhaustedError",
    "SeenDrafts",
    "Session",
    "SessionOptions",
    "Statistics",
    "Stream",
    "TensorType",
    "TokenLogprob",
    "TokenLogprobs",
    "ToolCall",
    "UnavailableError",
    "UnimplementedError",
    "Update",
    "__version__",
    "compile",
    "compile_text",
    "dump",
    "import_model",
    "tune",
]
