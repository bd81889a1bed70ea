"""Reads what a module computes as a program of the operator table, so that it
can be asked for as a generated task is.

The module and each row's PyTorch expression are traced to ATen calls, which are
the same for a module, a function and a method. A row's expression is traced
twice per parameter it has; where the two calls differ is where the parameter
stands. The module's result is then covered by rows from its end.
"""

import operator

import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

# Arguments of a row's expression in the two traces that show where each one
# stands. Dimensions differ, so that a shape in a call is seen as one.
SHAPE = (4, 12, 8)
SHAPES = {"transpose": (12, 8)}
OTHER = {"matmul": (4, 8, 6), "matmul_t": (4, 6, 8)}
PARAMETERS = {
    "one": (1,), "last": (8,), "channel": (12,), "matrix": (6, 8),
    "feature": (6,),
}
FIRST = {"c0": 0.7, "c1": 0.9, "d": 0, "g": 2, "k": "", "p": "0, 2, 1"}
SECOND = {
    "c0": 0.3, "c1": 0.4, "d": 1, "g": 3, "k": ", keepdim=True", "p": "2, 0, 1",
}

COMMUTE = {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default",
           "aten.minimum.default"}
# Results that are the first operand, as far as the values go.
COPIES = {"aten.contiguous.default", "aten.clone.default",
          "aten.detach.default", "aten.alias.default",
          "aten.expand_as.default"}
DIMENSIONS = {"dim", "dims", "dim0", "dim1"}
MAX_CALLS = 64


class Call:
    """An ATen call, or a leaf: an input, a parameter, a constant tensor."""

    def __init__(self, name, arguments=(), shape=()):
        self.name, self.arguments, self.shape = name, arguments, shape

    def calls(self):
        below = [x.calls() for x in self.arguments if isinstance(x, Call)]
        return (1 if self.arguments else 0) + sum(below)


class Slot:
    """Where a row's parameter stands in a call; negative if its sign is."""

    def __init__(self, name, sign=1):
        self.name, self.sign = name, sign


def traced(function, tensors):
    """The result of `function(*tensors)` as calls on leaves 0, 1, ...
    @raises ValueError for several results, or too many calls."""
    graph = make_fx(function, tracing_mode="fake", pre_dispatch=True)(*tensors)
    values, leaves, calls = {}, 0, 0
    for node in graph.graph.nodes:
        meta = node.meta.get("val")
        shape = tuple(meta.shape) if isinstance(meta, torch.Tensor) else ()
        if node.op == "placeholder":
            values[node] = Call(leaves, (), shape)
            leaves += 1
        elif node.op == "call_function":
            calls += 1
            values[node] = _call(node, values, shape)
        elif node.op != "output":
            values[node] = Call("constant")
    results = torch.utils._pytree.tree_leaves(node.args)
    if len(results) != 1 or calls > MAX_CALLS:
        raise ValueError("no single result of few calls")
    return values[results[0]]


def _call(node, values, shape):
    def known(x):
        if isinstance(x, (list, tuple)):
            return tuple(known(y) for y in x)
        return values[x] if isinstance(x, torch.fx.Node) else x

    given = [known(x) for x in node.args]
    if node.target is operator.getitem:
        return _item(given, shape)
    names = [x.name for x in node.target._schema.arguments]
    filled = [x.default_value for x in node.target._schema.arguments]
    filled[: len(given)] = given
    for name, value in node.kwargs.items():
        filled[names.index(name)] = known(value)
    first = filled[0] if filled else None
    # An in-place call is what later ones mean by its operand, too.
    name = str(node.target).replace("_.", ".")
    if name in COPIES or name == "aten.dropout.default" and not filled[2]:
        return first
    if isinstance(first, Call) and first.shape:
        rank = len(first.shape)
        filled = [
            _dimensions(x, rank) if n in DIMENSIONS else x
            for n, x in zip(names, filled)
        ]
    return _normal(Call(name, tuple(filled), shape))


def _dimensions(value, rank):
    if isinstance(value, (list, tuple)):
        return tuple(x % rank for x in value)
    return value % rank if isinstance(value, int) else value


def _item(given, shape):
    """An element of what a call with several results gave."""
    source, index = given
    if source.name == "aten.broadcast_tensors.default":
        if all(x.shape == shape for x in source.arguments[0]):
            return source.arguments[0][index]
    if source.name == "aten.max.dim" and index == 0:
        x, dim, keep = source.arguments
        return Call("aten.amax.default", (x, (dim,), keep), shape)
    if source.name == "aten.min.dim" and index == 0:
        x, dim, keep = source.arguments
        return Call("aten.amin.default", (x, (dim,), keep), shape)
    return Call("item", (source, index), shape)


def _normal(call):
    """One of several ways to say the same."""
    name, given, shape = call.name, call.arguments, call.shape
    rank = len(given[0].shape) if isinstance(given[0], Call) else 0
    if name == "aten.mul.Tensor" and given[0] is given[1]:
        return Call("aten.square.default", given[:1], shape)
    if name == "aten.pow.Tensor_Scalar" and given[1] == 2:
        return Call("aten.square.default", given[:1], shape)
    if name in ("aten.max.other", "aten.min.other"):
        both = {"aten.max.other": "maximum", "aten.min.other": "minimum"}
        return Call(f"aten.{both[name]}.default", given, shape)
    if name in ("aten.layer_norm.default", "aten.rms_norm.default"):
        return Call(name, (given[0], len(given[1]), *given[2:]), shape)
    if name == "aten.transpose.int":
        return Call(name, (given[0], *sorted(x - rank for x in given[1:])),
                    shape)
    if name in ("aten.t.default", "aten.numpy_T.default") and rank == 2:
        return Call("aten.transpose.int", (given[0], -2, -1), shape)
    if name == "aten.clamp_min.default":
        return Call("aten.clamp.default", (given[0], given[1], None), shape)
    if name == "aten.clamp_max.default":
        return Call("aten.clamp.default", (given[0], None, given[1]), shape)
    return call


class Row:
    """A row of the operator table with its expression as calls on the leaves
    "v", "a", "w" and "w1", and slots where its parameters stand."""

    def __init__(self, row):
        self.name, self.text = row["name"], row["python"]
        self.counts_features = row["counts_features"]
        self.on_last_axis = row["on_last_axis"]
        self.leaves = ["v"]
        shapes = [SHAPES.get(self.name, SHAPE)]
        if "{a}" in self.text:
            self.leaves.append("a")
            shapes.append(OTHER.get(self.name, SHAPE))
        for key, kind in zip(("w", "w1"), row["parameters"]):
            self.leaves.append(key)
            shapes.append(PARAMETERS[kind])
        self.tensors = [torch.empty(shape) for shape in shapes]
        first = dict(FIRST, p="1, 0") if self.name == "transpose" else FIRST
        self.calls = self._trace(first)
        for key in FIRST:
            if first[key] != FIRST[key]:
                continue
            if "{" + key + "}" in self.text:
                other = self._trace({**FIRST, key: SECOND[key]})
                self.calls = _compared(self.calls, other, key)
        self.size = self.calls.calls()

    def _trace(self, values):
        text = self.text
        for key, value in values.items():
            text = text.replace("{" + key + "}", str(value))
        for key in self.leaves:
            text = text.replace("{" + key + "}", key)
        code = compile(text, self.name, "eval")

        def function(*tensors):
            return eval(code, {"torch": torch, "F": F},
                        dict(zip(self.leaves, tensors)))

        return self._named(traced(function, self.tensors))

    def _named(self, value):
        if isinstance(value, tuple):
            return tuple(self._named(x) for x in value)
        if not isinstance(value, Call):
            return value
        if isinstance(value.name, int):
            return Call(self.leaves[value.name], (), value.shape)
        return Call(value.name, self._named(value.arguments), value.shape)


def _compared(first, second, key):
    """`first` with slots where `second`, which differs in `key`, differs."""
    if isinstance(first, Call):
        arguments = tuple(
            _compared(x, y, key)
            for x, y in zip(first.arguments, second.arguments)
        )
        return Call(first.name, arguments, first.shape)
    if first == second or isinstance(first, Slot):
        return first
    if isinstance(first, tuple) and key != "p":
        return tuple(_compared(x, y, key) for x, y in zip(first, second))
    negative = key[0] == "c" and first == -FIRST[key]
    return Slot(key, -1 if negative else 1)


def matches(pattern, value, bound):
    """All ways to bind leaves and slots so that `pattern` is `value`."""
    if isinstance(pattern, Slot):
        if pattern.name[0] in "cdg" and not isinstance(value, (int, float)):
            return
        found = value * pattern.sign if pattern.name[0] in "cdg" else value
        if bound.setdefault(pattern.name, found) == found:
            yield bound
    elif isinstance(pattern, Call):
        if not isinstance(value, Call):
            return
        if not pattern.arguments and isinstance(pattern.name, str):
            if bound.setdefault(pattern.name, value) is value:
                yield bound
        elif pattern.name == value.name:
            orders = [value.arguments]
            if value.name in COMMUTE:
                first, second, *rest = value.arguments
                orders.append((second, first, *rest))
            for order in orders:
                yield from _all(pattern.arguments, order, dict(bound))
    elif isinstance(pattern, tuple):
        if isinstance(value, (list, tuple)) and len(pattern) == len(value):
            yield from _all(pattern, value, bound)
    elif pattern == value and isinstance(pattern, bool) == isinstance(
        value, bool
    ):
        yield bound


def _all(patterns, values, bound):
    if not patterns:
        yield bound
        return
    for found in matches(patterns[0], values[0], dict(bound)):
        yield from _all(patterns[1:], values[1:], found)


class Reader:
    """Covers a module's result by rows."""

    def __init__(self, rows, num_inputs):
        self.rows, self.num_inputs = rows, num_inputs
        self.covers, self.numbers = {}, {}
        self.lines, self.owned = [], []

    def cover(self, value):
        """The row that ends in `value` and what it binds; None if none does."""
        if value not in self.covers:
            self.covers[value] = None
            for row, bound in self._candidates(value):
                operands = [bound[x] for x in ("v", "a") if x in bound]
                if all(self._is_input(x) or self.cover(x) for x in operands):
                    self.covers[value] = row, bound
                    break
        return self.covers[value]

    def _candidates(self, value):
        found = []
        for row in self.rows:
            for bound in matches(row.calls, value, {}):
                weights = [bound[x] for x in ("w", "w1") if x in bound]
                if all(self._is_state(x) for x in weights):
                    found.append((row, bound))
        # A row that says more; then one that goes on with the last result.
        return sorted(
            found, key=lambda x: (-x[0].size, self._is_input(x[1]["v"]))
        )

    def _is_input(self, value):
        return isinstance(value.name, int) and value.name < self.num_inputs

    def _is_state(self, value):
        return isinstance(value.name, int) and value.name >= self.num_inputs

    def number(self, value):
        """Writes the lines up to `value`. @pre cover(value)"""
        if self._is_input(value):
            return value.name
        if value not in self.numbers:
            row, bound = self.cover(value)
            other = self.number(bound["a"]) if "a" in bound else None
            line = f"{row.name} {self.number(bound['v'])}"
            self.owned += [bound[x].name for x in ("w", "w1") if x in bound]
            self.lines.append(line + _attributes(row, bound, other))
            self.numbers[value] = self.num_inputs + len(self.lines) - 1
        return self.numbers[value]


def _attributes(row, bound, other):
    text = "" if other is None else f" a{other}"
    for key in ("c0", "c1"):
        if key in bound:
            text += f" c{float(bound[key])!r}".removesuffix(".0")
    last = len(bound["v"].shape) - 1
    axis = last if row.on_last_axis else bound.get("d")
    if axis:
        text += f" d{axis}"
    if bound.get("k"):
        text += " k"
    features = row.counts_features
    count = bound["w"].shape[0] if features else bound.get("g")
    if count:
        text += f" g{count}"
    order = (1, 0) if row.name == "transpose" else bound.get("p", ())
    if order:
        text += " p" + "".join(map(str, order))
    return text


def _input_text(tensor):
    """Shape and view as a serialised program has them, or None."""
    shape, strides = list(tensor.shape), list(tensor.stride())
    letter = "c" if tensor.is_contiguous() else None
    if letter is None and len(shape) == 2:
        n = shape[1]
        ways = {"t": [1, shape[0]], "s": [n + 16, 1], "2": [2 * n, 2]}
        letter = next((x for x, y in ways.items() if y == strides), None)
    sizes = "x".join(map(str, shape))
    return f"{sizes}:{letter}" if letter and shape else None


def read_program(reference, rows):
    """The serialised program of a loaded reference; empty where the rows do
    not say what it computes, such as for an operator that has none."""
    if reference.changed_inputs or reference.changed_state:
        return ""
    inputs = [x for x in reference.leaves if isinstance(x, torch.Tensor)]
    texts = [_input_text(x) for x in inputs]
    names = [name for name, _, _ in reference.state]
    model, count = reference.model, len(inputs)
    if None in texts or not isinstance(model, torch.nn.Module):
        return ""

    def call(*given):
        state = dict(zip(names, given[count:]))
        arguments = tuple(reference.arguments(list(given[:count])))
        return torch.func.functional_call(model, state, arguments)

    try:
        with torch.no_grad():
            result = traced(call, inputs + [x for _, x, _ in reference.state])
    except Exception:  # Whatever tracing does not support.
        return ""
    reader = Reader(rows, count)
    if not isinstance(result, Call) or not reader.cover(result):
        return ""
    reader.number(result)
    # Arguments of a kernel come in the state's order, each once.
    if reader.owned != list(range(count, count + len(names))):
        return ""
    level = min(len(reader.lines), 2)
    return ";".join([" ".join([str(level), *texts]), *reader.lines])
