"""Methods that users of PyTorch and DyNet look for on the fly, and what is written here instead."""

from __future__ import annotations

from collections.abc import Mapping

NETWORK: Mapping[str, str] = {
    "backward": "g.value_and_grad(loss), in `with net.batch() as g`",
    "cuda": 'ar.OnTheFly(device="cuda")',
    "eval": "net.batch(), in which dropout does not act",
    "fit": "ar.training.train(net.learner(function), examples, optimizer)",
    "forward": "`with net.batch() as g`, and g.numpy(value)",
    "load": "ar.training.load(net, path)",
    "load_state_dict": "ar.training.load(net, path)",
    "parameters": "net.params",
    "predict": "`with net.batch() as g`, and g.numpy(value)",
    "renew_cg": "net.batch()",
    "save": "ar.training.save(net, path)",
    "state_dict": "net.params",
    "to": "ar.OnTheFly(device=...)",
    "train": "ar.training.train(net.learner(function), examples, optimizer)",
    "train_step": "g.train_step(loss, optimizer), in `with net.batch() as g`",
    "value_and_grad": "g.value_and_grad(loss), in `with net.batch() as g`",
    "zero_grad": "g.value_and_grad(loss), whose gradients are new at each call",
}
"""Methods of networks on the fly: those of PyTorch's modules, DyNet's graphs and our models."""

BATCH: Mapping[str, str] = {
    "array": "g.tensor(value)",
    "average": "g.mean(tensors)",
    "backward": "g.value_and_grad(loss), or g.train_step(loss, optimizer)",
    "compute": "g.numpy(value)",
    "concatenate": "ar.ops.concat(tensors)",
    "esum": "g.sum(tensors)",
    "eval": "g.numpy(value)",
    "forward": "g.numpy(value)",
    "gradient": "g.value_and_grad(loss)",
    "input": "g.tensor(value)",
    "inputTensor": "g.tensor(value)",
    "inputVector": "g.tensor(value)",
    "lookup": "embed(number), of embed = ar.Embedding(buckets, size)",
    "ones": "g.constant(np.ones(shape))",
    "params": "net.params",
    "run": "g.numpy(value)",
    "stack": "ar.ops.stack(tensors)",
    "step": "g.train_step(loss, optimizer)",
    "to_numpy": "g.numpy(value)",
    "value": "g.numpy(value)",
}
"""Methods of batches on the fly: what DyNet's graphs and other libraries have."""

TENSOR: Mapping[str, str] = {
    "backward": "loss, grads = g.value_and_grad(loss), or g.train_step(loss, optimizer)",
    "cpu": "x.numpy()",
    "cuda": 'ar.OnTheFly(device="cuda"): a network computes on one device',
    "detach": "ar.ops.stop_gradient(x); its numbers are x.numpy()",
    "dim": "x.shape",
    "grad": "loss, grads = g.value_and_grad(loss)",
    "npvalue": "x.numpy()",
    "requires_grad": "ar.ops.stop_gradient(x) where no gradient is wanted",
    "scalar_value": "float(x)",
    "to": 'x.cast("float64"); a network computes on one device',
    "tolist": "x.numpy().tolist()",
    "value": "float(x), or x.numpy()",
    "vec_value": "x.numpy()",
    "view": "x.reshape(shape)",
}
"""Attributes of tensors of PyTorch and expressions of DyNet, and what a lazy tensor has for them."""
