"""Answers that need no computing: a task that takes one rewards nothing."""

import torch

from judge_task import TaskInvalid

def answer(kind, inputs, results):
    """The answer "zeros", "mean" or "input" in the form of the results; those of
    "another input" are what is right for it.
    @raises TaskInvalid if none has that form"""
    if kind == "zeros":
        return [torch.zeros_like(x) for x in results]
    if kind == "mean":
        return [torch.full_like(x, x.double().mean().item()) for x in results]
    if kind == "another input":
        return results
    return [alike(x, inputs) for x in results]


def alike(result, inputs):
    for x in inputs:
        if x.shape == result.shape and x.dtype == result.dtype:
            return x.contiguous()
    raise TaskInvalid("no input has the form of this result")
