"""Where a reference's source can be altered: what computes, and what makes the
layers that compute."""

import ast

# Calls that only arrange, or that no kernel is asked for: neither they nor the
# sizes that they are given are altered.
ARRANGING = frozenset(
    """arange bool broadcast_to chunk clone contiguous detach device dict dim
    empty enumerate expand expand_as eye flatten float full getattr
    hasattr int isinstance item len list long meshgrid new_empty
    new_zeros numel ones ones_like pad parameters print range repeat
    repeat_interleave reshape reversed shape size split squeeze stack str
    super tensor to tuple type unbind unflatten unfold unsqueeze view view_as
    zeros zeros_like zip""".split()
)

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "Parameter")
CONTAINERS += ("ParameterList", "ParameterDict", "Dropout", "Identity")


class Functions:
    """The functions of a module that `Model` reaches, by what they are for."""

    def __init__(self, tree):
        self.known = {}
        self.classes = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.known.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
        self.computing, self.building = [], []
        self.seen = set()
        self.add_class("Model")
        self.building = [x for x in self.building if x not in self.computing]

    def add_class(self, name):
        node = self.classes.get(name)
        if node is None or name in self.seen:
            return
        self.seen.add(name)
        for base in node.bases:
            self.follow(base, self.computing)
        for item in node.body:
            if getattr(item, "name", "") == "forward":
                self.add(item, self.computing)
            elif getattr(item, "name", "") == "__init__":
                self.add(item, self.building)

    def add(self, function, to):
        if function in to:
            return
        to.append(function)
        for statement in function.body:
            self.follow(statement, to)

    def follow(self, node, to):
        for inner in ast.walk(node):
            name = getattr(inner, "id", getattr(inner, "attr", None))
            self.add_class(name)
            if name not in ("forward", "__init__"):
                for function in self.known.get(name, []):
                    self.add(function, to)


def computing(tree):
    """Every expression and assignment that takes part in a result."""
    for function in Functions(tree).computing:
        for statement in function.body:
            yield from visited(statement)


def visited(node):
    if isinstance(node, (ast.Assert, ast.Raise, ast.JoinedStr, ast.FunctionDef)):
        return
    if isinstance(node, ast.Subscript):
        yield from visited(node.value)
        return
    if isinstance(node, ast.Call) and name_of(node.func) in ARRANGING:
        if isinstance(node.func, ast.Attribute):
            yield from visited(node.func.value)
        # A tensor may be among them: torch.flatten(torch.relu(x), 1).
        for given in node.args:
            if isinstance(given, (ast.Call, ast.List, ast.Tuple)):
                yield from visited(given)
        return
    # A task whose results are drawn is refused: what drops does nothing.
    if not (isinstance(node, ast.Call) and "drop" in name_of(node.func)):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from visited(child)


def entry(tree):
    """Where `Model.forward` begins: its first statement and its arguments."""
    model = Functions(tree).classes.get("Model")
    for item in model.body if model else []:
        if getattr(item, "name", "") == "forward":
            body = item.body[1:] if ast.get_docstring(item) else item.body
            return (body or item.body)[0], item.args.args[1:]
    return None, []


def building(tree):
    """Each call that makes a layer, and whether an attribute is set to it."""
    functions = Functions(tree)
    for function in functions.building:
        named = {
            id(x.value)
            for x in ast.walk(function)
            if isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Attribute)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and makes_layer(node, functions):
                yield node, id(node) in named


def makes_layer(node, functions):
    function = node.func
    if isinstance(function, ast.Name):
        return function.id in functions.classes
    if not isinstance(function, ast.Attribute):
        return False
    name = function.attr
    return name[:1].isupper() and not name.startswith(CONTAINERS)


def name_of(function):
    if isinstance(function, ast.Attribute):
        return function.attr
    return getattr(function, "id", "")
