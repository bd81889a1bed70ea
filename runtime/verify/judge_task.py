"""One task, as the trusted side holds it: the module that the user wrote, what
a candidate is called with, and inputs, state and results for one seed.

Only task files are executed here, never a candidate.
"""

import ctypes
import random
import re
import sys
import time
import types

import torch

DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
}

# What a task's source is called in tracebacks, wherever it came from.
SOURCE_NAME = "reference.py"

# Factors of the scaled stress inputs. Powers of two, so that scaling itself
# rounds nothing.
SCALES = {"large": 4.0, "small": 1.0 / 64.0}
STRESS = ("signed", "large", "small")

# A reference slower than this is not tried in double precision, and so gets
# plain inputs in place of stress inputs.
SLOW_S = 0.25

# Stress inputs are not tried on references that hold more than this: deciding
# whether they are fair takes a copy in double precision.
LARGE_BYTES = 64 << 20

NOISE_TILE = 999_983

KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch
    char class compl concept const consteval constexpr constinit const_cast
    continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto
    if inline int int64_t kernel long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef
    typeid typename uint16_t uint8_t union unsigned using virtual void volatile
    wchar_t while xor xor_eq main linux unix""".split()
)


class TaskInvalid(Exception):
    """The task itself cannot be judged; the text says why."""


class ProtocolError(Exception):
    """The engine asked for something that does not fit: our own fault."""


def seed_everything(seed):
    """Every generator that a task may draw from."""
    seed = int(seed) & (2**64 - 1)
    # torch.manual_seed also queues a call, with a stack trace, for each kind of
    # device that is not there: milliseconds, and memory that is never freed.
    torch.default_generator.manual_seed(seed & (2**63 - 1))
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed & 0xFFFFFFFF)


def flatten(value, name, out):
    """Appends the (name, leaf) pairs of nested lists, tuples and dicts."""
    if isinstance(value, dict):
        for key, item in value.items():
            flatten(item, f"{name}_{key}", out)
    elif isinstance(value, (list, tuple)) and any(
        isinstance(item, (torch.Tensor, list, tuple, dict)) for item in value
    ):
        for index, item in enumerate(value):
            flatten(item, f"{name}_{index}", out)
    else:
        out.append((name, value))


def rebuild(value, leaves):
    """The same nesting as `value` with its leaves taken from an iterator."""
    if isinstance(value, dict):
        return {key: rebuild(item, leaves) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and any(
        isinstance(item, (torch.Tensor, list, tuple, dict)) for item in value
    ):
        items = [rebuild(item, leaves) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return next(leaves)


class Names:
    """Turns names of tensors into distinct C identifiers."""

    def __init__(self):
        self.used = set()

    def make(self, text):
        text = re.sub(r"\W", "_", text, flags=re.ASCII) or "x"
        if text[0].isdigit():
            text = "p" + text
        while text in KEYWORDS or text in self.used or text.startswith("__"):
            text = text.lstrip("_") + "_" if text.strip("_") else "x"
        self.used.add(text)
        return text


def extent(tensor):
    """Elements from the first to the last that the strides reach."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.stride())
    )


def memory_of(tensor):
    """What a tensor's strides reach, gaps included, as a vector."""
    return tensor.as_strided((extent(tensor),), (1,), tensor.storage_offset())


def raw_bytes(tensor):
    """The memory of a tensor as bytes, gaps of its strides included."""
    span = memory_of(tensor).contiguous()
    return span, span.numel() * span.element_size()


def store(tensor, address, room):
    """Copies a tensor's memory to an address with that many bytes left."""
    span, size = raw_bytes(tensor)
    if size > room:
        raise ProtocolError(f"a tensor of {size} bytes does not fit in {room}")
    if size:
        ctypes.memmove(address, span.data_ptr(), size)


def same_structure(a, b):
    return (
        a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
    )


def describe(name, tensor, contiguous=False):
    if tensor.dtype not in DTYPES:
        raise TaskInvalid(
            f"tensor '{name}' has type {tensor.dtype}; expected one of "
            + ", ".join(DTYPES.values())
        )
    strides = [] if contiguous or tensor.is_contiguous() else tensor.stride()
    return {
        "name": name,
        "dtype": DTYPES[tensor.dtype],
        "shape": list(tensor.shape),
        "strides": list(strides),
    }


def load_module(source):
    """Executes a task's source."""
    module = types.ModuleType("swage_task")
    module.__file__ = SOURCE_NAME
    exec(compile(source, SOURCE_NAME, "exec"), module.__dict__)  # noqa: S102
    for wanted in ("Model", "get_inputs"):
        if not hasattr(module, wanted):
            raise TaskInvalid(f"the file defines no '{wanted}'")
    return module


def construct(module, seed):
    """A model with freshly drawn parameters, in the mode that its author
    left it in."""
    seed_everything(seed)
    arguments = getattr(module, "get_init_inputs", list)()
    if isinstance(arguments, dict):
        return module.Model(**arguments)
    if (
        len(arguments) == 2
        and isinstance(arguments[0], (list, tuple))
        and isinstance(arguments[1], dict)
    ):
        return module.Model(*arguments[0], **arguments[1])
    return module.Model(*arguments)


def tensors_of(model):
    """Every tensor that a model holds, as (name, tensor, is_parameter):
    `state_dict` order, then buffers that it leaves out and plain attributes
    (KernelBench's recurrent models keep their first hidden state so)."""
    found, names = [], set()

    def add(name, tensor):
        if name not in names and tensor.layout == torch.strided:
            names.add(name)
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            found.append((name, tensor.detach(), is_parameter))

    if not isinstance(model, torch.nn.Module):
        return found
    everything = dict(model.named_parameters(remove_duplicate=False))
    everything.update(model.named_buffers(remove_duplicate=False))
    for name in model.state_dict(keep_vars=True):
        if name in everything:
            add(name, everything[name])
    for name, tensor in everything.items():
        add(name, tensor)
    for path, child in model.named_modules():
        for key, value in vars(child).items():
            if isinstance(value, torch.Tensor):
                add(f"{path}.{key}" if path else key, value)
    return found


def perturb(tensor, is_parameter):
    """Draws a new value near the present one, in place.

    A task's parameters are often all ones or zeros (norms, biases), where a
    candidate that ignores them would pass. Buffers only get a positive factor:
    a running variance stays one."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return
    size = 1.0
    if is_parameter:
        norm = tensor.norm(dtype=torch.float32).item()
        norm /= tensor.numel() ** 0.5
        size = norm if 0 < norm < float("inf") else 1.0
    # A drawn tile is repeated over large tensors: drawing is what costs.
    tile = torch.rand((2, min(tensor.numel(), NOISE_TILE)))
    factor = (tile[0] * 0.4 + 0.8).to(tensor.dtype)
    noise = ((tile[1] * 2 - 1) * (0.1 * size)).to(tensor.dtype)
    # One that is not contiguous is worked on in a copy.
    flat = tensor.reshape(-1)
    for part in flat.split(NOISE_TILE):
        part.mul_(factor[: part.numel()])
        if is_parameter:
            part.add_(noise[: part.numel()])
    if flat.data_ptr() != tensor.data_ptr():
        tensor.copy_(flat.view(tensor.shape))


def stressed(tensor, kind):
    """Signed or scaled copy of an input; integers and booleans keep their
    range, so indices stay indices."""
    if kind == "plain" or not tensor.is_floating_point():
        return tensor
    # The memory, not the elements: strides leave gaps, and those of zero let
    # elements share their place.
    span = memory_of(tensor).clone()
    if kind == "signed":
        signs = torch.randint(0, 2, span.shape, dtype=torch.int8) * 2 - 1
        span.mul_(signs.to(tensor.dtype))
    else:
        span.mul_(SCALES[kind])
    return span.as_strided(tensor.shape, tensor.stride())


def is_finite(tensor):
    """Whether no element is NaN or infinite."""
    if not tensor.is_floating_point():
        return True
    # A finite sum has finite terms, and is cheaper to make than their test.
    return bool(tensor.sum().isfinite() or tensor.isfinite().all())


def elapsed(start):
    return time.perf_counter() - start
