"""Altered references: a module's source with one operator dropped or changed.

A task whose inputs cannot tell its reference from such a one rewards kernels
that are wrong in the same way. Only what `Model` computes is altered, never what
its inputs and parameters are drawn from, so that both get the same ones.
"""

import ast
import math

import torch
import torch.nn.functional as F

from judge_mutant_sites import building, computing, entry, name_of

# Below it a constant keeps a division from failing, and no test shows it.
NEGLIGIBLE = 1e-3

OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
}

COMPARISONS = {
    ast.Lt: ("<", ">"),
    ast.Gt: (">", "<"),
    ast.LtE: ("<=", ">="),
    ast.GtE: (">=", "<="),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}

# Functions and layers that take the same arguments.
OTHERS = {
    "amax": "amin",
    "amin": "amax",
    "argmax": "argmin",
    "argmin": "argmax",
    "cos": "sin",
    "cummax": "cummin",
    "cummin": "cummax",
    "cumprod": "cumsum",
    "cumsum": "cumprod",
    "elu": "relu",
    "exp": "expm1",
    "gelu": "relu",
    "log": "log1p",
    "log_softmax": "softmax",
    "max": "min",
    "maximum": "minimum",
    "mean": "sum",
    "min": "max",
    "minimum": "maximum",
    "relu": "abs",
    "rsqrt": "sqrt",
    "sigmoid": "tanh",
    "silu": "relu",
    "sin": "cos",
    "softmax": "log_softmax",
    "sqrt": "square",
    "sum": "mean",
    "tanh": "sigmoid",
}

OTHER_LAYERS = {
    "ELU": "SELU",
    "GELU": "ReLU",
    "Hardswish": "SiLU",
    "Mish": "ReLU",
    "ReLU": "LeakyReLU",
    "SiLU": "ReLU",
    "Sigmoid": "Tanh",
    "Softmax": "LogSoftmax",
    "Tanh": "Sigmoid",
}

# Their parameters stay, and what draws them, but they have no effect.
HELPERS = """

def _swage_without(layer):
    layer.forward = lambda x, *rest, **named: x
    return layer


def _swage_unbiased(layer):
    def ignore(*_):
        layer.bias.data.zero_()

    layer.register_forward_pre_hook(ignore)
    return layer


def _swage_unsigned(x):
    if not x.is_floating_point():
        raise TypeError("no sign to ignore")
    return x.abs()


def _swage_ones(x):
    return x.new_ones(x.shape)
"""

# Called with axes to arrange.
ON_AXES = frozenset("gather index_select movedim permute transpose".split())

# Called for an axis, where another constant is a factor or a bound.
ON_AXIS = frozenset(
    """all amax amin any argmax argmin cummax cummin cumprod cumsum flip
    log_softmax logsumexp max mean min norm normalize prod roll softmax sort std
    sum topk var""".split()
)


class Text:
    """A source whose pieces are replaced, one at a time."""

    def __init__(self, source):
        self.data = source.encode()
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def span(self, node):
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node):
        begin, end = self.span(node)
        return f"({self.data[begin:end].decode()})"

    def replaced(self, node, text):
        begin, end = self.span(node)
        whole = self.data[:begin] + text.encode() + self.data[end:]
        return whole.decode() + HELPERS


def mutants(source, most):
    """At most so many (what, source) pairs, evenly out of all there are."""
    tree, text = ast.parse(source), Text(source)
    modules = {
        name.asname or name.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    found = []
    for node in computing(tree):
        found += altered(node, text, modules)
    for node in building(tree):
        found += altered_layer(node, text)
    found += altered_inputs(tree, text)
    found.sort(key=lambda x: (x[0].lineno, x[0].col_offset))
    count = min(most, len(found))
    chosen = [found[i * len(found) // count] for i in range(count)]
    return [
        (f"line {node.lineno}: {what}", text.replaced(node, other))
        for node, what, other in chosen
    ]


def altered_inputs(tree, text):
    """What `forward` is given, with less in it."""
    first, arguments = entry(tree)
    out = []
    for name in [x.arg for x in arguments]:
        for what, helper in (
            (f"ignored the signs of {name}", "_swage_unsigned"),
            (f"ignored {name}", "_swage_ones"),
        ):
            line = f"{name} = {helper}({name})\n" + " " * first.col_offset
            out.append((first, what, line + text.of(first)[1:-1]))
    return out


def altered(node, text, modules):
    """The (node, what, text in its place) triples of one node."""
    if isinstance(node, ast.BinOp):
        return altered_operator(node, text, node.left, node.right)
    if isinstance(node, ast.AugAssign):
        return altered_assignment(node, text)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        old, new = COMPARISONS[type(node.ops[0])]
        if len(node.ops) > 1:
            return []
        sides = text.of(node.left), text.of(node.comparators[0])
        return [(node, f"{old} became {new}", f" {new} ".join(sides))]
    if isinstance(node, ast.Call):
        return altered_call(node, text, modules)
    return []


def altered_operator(node, text, left, right):
    if type(node.op) not in OPERATORS or negligible(left) or negligible(right):
        return []
    old, new = OPERATORS[type(node.op)]
    a, b = text.of(left), text.of(right)
    out = [(node, f"{old} became {new}", f"({a} {new} {b})")]
    # Of a constant and a tensor, the tensor has the shape.
    kept, lost = (b, left) if number(left) is not None else (a, right)
    out.append((node, f"dropped {old} {brief(text.of(lost))}", kept))
    return out + [
        (x, f"{number(x):g} became {other:g}", repr(other))
        for x in (left, right)
        if (other := other_number(x)) is not None
    ]


def altered_assignment(node, text):
    if type(node.op) not in OPERATORS or negligible(node.value):
        return []
    old, new = OPERATORS[type(node.op)]
    target, value = text.of(node.target)[1:-1], text.of(node.value)
    return [
        (node, f"{old}= became {new}=", f"{target} {new}= {value}"),
        (node, f"dropped {old}= {brief(value)}", "pass"),
    ]


def altered_call(node, text, modules):
    name = called(node)
    operand = first_operand(node, modules)
    if operand is None:
        return []
    out = [(node, f"dropped {name}", text.of(operand))]
    root = root_name(node.func)
    if name in OTHERS and root != "math":
        function = other_function(node, text, OTHERS[name], modules)
        out.append((node.func, f"{name} became {OTHERS[name]}", function))
    if name in ON_AXES:
        return out
    given = [x for x in node.args if x is not operand]
    for x, key in [(x, None) for x in given] + [
        (x.value, x.arg) for x in node.keywords
    ]:
        on_axis = key in ("dim", "axis") or (key is None and name in ON_AXIS)
        other = other_axis(x) if on_axis else other_number(x)
        if other is not None:
            what = f"{number(x):g} became {other:g}"
            out.append((x, f"{what} in {name}", repr(other)))
    return out


def altered_layer(call, text):
    """Of a layer that is made, and whether one that is called by its name."""
    node, is_named = call
    name, whole = called(node), text.of(node)
    out = []
    # One that has a name is dropped where it is called.
    if not is_named:
        out.append((node, f"dropped {name}", f"_swage_without{whole}"))
    if name in OTHER_LAYERS and isinstance(node.func, ast.Attribute):
        other = OTHER_LAYERS[name]
        function = f"{text.of(node.func.value)[1:-1]}.{other}"
        out.append((node.func, f"{name} became {other}", function))
    if name.startswith(("Conv", "Linear")) or name.endswith(
        ("Norm", "Norm1d", "Norm2d", "Norm3d")
    ):
        what = f"ignored the bias of {name}"
        out.append((node, what, f"_swage_unbiased{whole}"))
    return out


def called(node):
    return name_of(node.func) or "a layer"


def root_name(node):
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_method(node, modules):
    """Whether a tensor's method is called, not a function or a layer."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return False
    root = root_name(function)
    if root in modules or not hasattr(torch.Tensor, function.attr):
        return False
    direct = isinstance(function.value, ast.Name) and root == "self"
    return not direct


def first_operand(node, modules):
    """What a call gives if it does nothing."""
    if is_method(node, modules):
        return node.func.value
    if node.args and not isinstance(node.args[0], (ast.Starred, ast.Constant)):
        return node.args[0]
    for key in node.keywords:
        if key.arg in ("input", "x"):
            return key.value
    return None


def other_function(node, text, name, modules):
    if is_method(node, modules):
        return f"{text.of(node.func.value)}.{name}"
    owner = "torch.nn.functional" if not hasattr(torch, name) else "torch"
    if isinstance(node.func, ast.Name):
        owner = "torch" if hasattr(torch, name) else owner
    elif root_name(node.func) not in ("torch",) and hasattr(F, name):
        owner = text.of(node.func.value)[1:-1]
    return f"{owner}.{name}"


def number(node):
    """The value of a numeric constant, or None."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def other_number(node):
    value = number(node)
    if value is None or 0 < abs(value) <= NEGLIGIBLE:
        return None
    return value * 2 if value else 1


def other_axis(node):
    value = number(node)
    if not isinstance(value, int):
        return None
    return value - 1 if value else 1


def negligible(node):
    value = number(node)
    if value is not None:
        return 0 < abs(value) <= NEGLIGIBLE
    name = node.attr if isinstance(node, ast.Attribute) else ""
    name = node.id if isinstance(node, ast.Name) else name
    return name.lower().endswith(("eps", "epsilon"))


def brief(text):
    text = " ".join(text[1:-1].split())
    return text if len(text) <= 24 else text[:21] + "..."
