"""Python expressions over tunable parameters, as other tuners have them in text, as C++ that a kernel file may contain."""

from __future__ import annotations

import ast

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def to_cpp(text: str, names: dict[str, str]) -> str:
    """C++ for a Python expression whose names stand for `names`. Parameters are taken to be at least 0: // and % are then those of C++.

    Raises ValueError for what has no counterpart, with the expression.
    """
    try:
        return _write(ast.parse(text.strip(), mode="eval").body, names)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"the expression {text!r} cannot be used: {error}") from None


def _write(node: ast.expr, names: dict[str, str]) -> str:
    def write(one: ast.expr) -> str:
        return _write(one, names)

    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return str(node.value).lower() if isinstance(node.value, bool) else repr(node.value)
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"{node.id} is no parameter")
        return names[node.id]
    if isinstance(node, ast.BoolOp):
        return "(" + (" && " if isinstance(node.op, ast.And) else " || ").join(map(write, node.values)) + ")"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        return {"Not": "!", "USub": "-", "Invert": "~"}[type(node.op).__name__] + f"({write(node.operand)})"
    if isinstance(node, ast.BinOp):
        left, right = write(node.left), write(node.right)
        if isinstance(node.op, ast.Div):
            return f"((double)({left}) / ({right}))"
        if isinstance(node.op, ast.FloorDiv):
            return f"(({left}) / ({right}))"
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value in (1, 2, 3, 4):
            return "(" + " * ".join([f"({left})"] * int(node.right.value)) + ")"
        if type(node.op) in _BINARY:
            return f"(({left}) {_BINARY[type(node.op)]} ({right}))"
    if isinstance(node, ast.Compare):
        parts, left = [], node.left
        for operator, right in zip(node.ops, node.comparators):
            parts.append(_compare(operator, left, right, names))
            left = right
        return "(" + " && ".join(parts) + ")"
    if isinstance(node, ast.IfExp):
        return f"({write(node.test)} ? {write(node.body)} : {write(node.orelse)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and len(node.args) == 2:
        return f"{node.func.id}_of((long)({write(node.args[0])}), (long)({write(node.args[1])}))"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        return f"(long)({write(node.args[0])})"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in names:
        return names[node.slice.value]  # p["block_size_x"]
    raise ValueError(f"{ast.unparse(node)} has no counterpart in C++")


def _compare(operator: ast.cmpop, left: ast.expr, right: ast.expr, names: dict[str, str]) -> str:
    if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(right, (ast.List, ast.Tuple, ast.Set)):
        any_of = " || ".join(f"({_write(left, names)}) == ({_write(one, names)})" for one in right.elts) or "false"
        return f"({any_of})" if isinstance(operator, ast.In) else f"!({any_of})"
    if type(operator) not in _COMPARE:
        raise ValueError(f"{type(operator).__name__} has no counterpart in C++")
    return f"({_write(left, names)}) {_COMPARE[type(operator)]} ({_write(right, names)})"
