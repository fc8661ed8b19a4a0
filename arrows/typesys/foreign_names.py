"""Names that users of PyTorch, Keras and DyNet type, and what they are called here.

Only texts: nothing here makes a foreign name work, so that type checkers go on refusing it.
"""

from __future__ import annotations

from collections.abc import Mapping

PACKAGE: Mapping[str, str] = {
    "BCEWithLogitsLoss": "ar.SigmoidCrossEntropy",
    "BatchNorm": "ar.LayerNorm, which does not depend on the batch",
    "BatchNorm1d": "ar.LayerNorm, which does not depend on the batch",
    "BinaryCrossentropy": "ar.SigmoidCrossEntropy",
    "CategoricalCrossentropy": "ar.SoftmaxCrossEntropy",
    "Concatenate": "ar.Concat",
    "CrossEntropyLoss": "ar.SoftmaxCrossEntropy",
    "DataLoader": "ar.training.train(model, examples, optimizer, batch_size=...), which makes the batches",
    "Dense": "ar.FC(size)",
    "EmbeddingBag": "ar.Map(ar.Embedding(...)) >> ar.Sum()",
    "GRU": "ar.RNN(ar.GRUCell(size))",
    "HuberLoss": "ar.Huber",
    "LSTM": "ar.RNN(ar.LSTMCell(size))",
    "Lambda": "ar.Function(f)",
    "MSELoss": "ar.SquaredError",
    "MeanSquaredError": "ar.SquaredError, or the figure ar.metrics.MeanSquaredError",
    "Module": "ar.Layer",
    "RNNCell": "ar.GRUCell, or a Function from (element, state) to the next state",
    "Sequential": "f >> g >> h",
    "SimpleRNN": "ar.RNN(cell)",
    "SmoothL1Loss": "ar.Huber",
    "SparseCategoricalCrossentropy": "ar.SoftmaxCrossEntropy",
    "Switch": "ar.OneOf",
    "TimeDistributed": "ar.Map(f)",
    "cat": "ar.Concat, or ar.ops.concat in a Function",
    "device": 'ar.compile(block, device="cuda")',
    "fit": "ar.training.train(model, examples, optimizer)",
    "functional": "ar.ops",
    "load": "ar.training.load(model, path)",
    "losses": "ar.SoftmaxCrossEntropy and its kin, which are blocks",
    "manual_seed": "ar.compile(block, seed=...)",
    "nn": "ar itself: ar.FC, ar.RNN, ar.LSTMCell",
    "no_grad": "model(examples), which keeps no gradients",
    "optim": "ar.training",
    "optimizers": "ar.training",
    "save": "ar.training.save(model, path)",
    "tensor": "ar.Constant(value) in a block, or numbers and NumPy arrays in a Function",
}
"""Names of modules, by what is written here instead."""

MODEL: Mapping[str, str] = {
    "backward": "model.value_and_grad(examples)",
    "cpu": 'model.to("cpu")',
    "cuda": 'model.to("cuda")',
    "evaluate": "model(examples), and the figures of ar.metrics",
    "fit": "ar.training.train(model, examples, optimizer)",
    "forward": "model(examples)",
    "get_weights": "model.params",
    "gradients": "model.value_and_grad(examples)",
    "load": "ar.training.load(model, path)",
    "load_state_dict": "ar.training.load(model, path)",
    "load_weights": "ar.training.load(model, path)",
    "loss": "model.value_and_grad(examples), whose first result is the loss",
    "named_parameters": "model.params",
    "parameters": "model.params",
    "save": "ar.training.save(model, path)",
    "save_weights": "ar.training.save(model, path)",
    "set_weights": "ar.training.load(model, path)",
    "state_dict": "model.params",
    "summary": "print(model.typed)",
    "train": "ar.training.train(model, examples, optimizer)",
    "train_on_batch": "model.train_step(examples, optimizer)",
    "trainable_variables": "model.params",
    "weights": "model.params",
    "zero_grad": "model.value_and_grad(examples), whose gradients are new at each call",
}
"""Methods of models, by what is written here instead."""

OPTIMIZER: Mapping[str, str] = {
    "betas": "beta1= and beta2=",
    "beta_1": "beta1=",
    "beta_2": "beta2=",
    "clip": "clip_norm=",
    "clipnorm": "clip_norm=",
    "ema_momentum": "average=",
    "eps": "epsilon=",
    "global_clipnorm": "clip_norm=",
    "lr": "learning_rate=",
    "max_norm": "clip_norm=",
    "schedule": "learning_rate=, which takes a schedule",
    "use_ema": "average=",
}
"""Arguments of optimizers."""

TRAIN: Mapping[str, str] = {
    "batch": "batch_size=",
    "bs": "batch_size=",
    "checkpoint": "checkpoint_path=",
    "learning_rate": "the optimizer's learning_rate=, as in Adam(0.01)",
    "loss": "ar.compile(block, loss=...)",
    "lr": "the optimizer's learning_rate=, as in Adam(0.01)",
    "max_epochs": "epochs=",
    "metrics": "evaluate=, a function that returns figures by name",
    "n_epochs": "epochs=",
    "num_epochs": "epochs=",
    "early_stopping": "stop_when=EarlyStopping(...)",
    "patience": "stop_when=EarlyStopping(...)",
    "scheduler": "the optimizer's learning_rate=, which takes a schedule, or plateau=",
    "validation_freq": "evaluate_every=",
    "random_state": "seed=",
    "rates": "the optimizer's rates=, as in Adam(rates=...)",
    "shuffle": "seed=: the order is drawn anew in each epoch",
    "validation_data": "evaluate=, a function that returns figures by name",
    "verbose": "progress=",
}
"""Arguments of `train`."""

LAYER: Mapping[str, str] = {
    "attention_dropout": "ar.Dropout(rate) behind the layer",
    "batch_first": "no such argument: a layer computes on one example",
    "bidirectional": "ar.Bidirectional around cells",
    "dropout": "ar.Dropout(rate) behind the layer",
    "embed_dim": "heads= alone: the size of the input is inferred",
    "embedding_dim": "size=",
    "eps": "epsilon=",
    "filters": "size=",
    "hidden_size": "size=",
    "in_channels": "size= alone: the size of the input is inferred",
    "in_features": "size= alone: the size of the input is inferred",
    "input_dim": "buckets= in an Embedding; elsewhere the size of the input is inferred",
    "input_shape": "size= alone: the size of the input is inferred",
    "input_size": "size= alone: the size of the input is inferred",
    "kernel_initializer": "initializer=",
    "key_dim": "heads= alone: each head has its share of the vectors",
    "nonlinearity": "activation=",
    "normalized_shape": "epsilon= alone: the size of the input is inferred",
    "num_embeddings": "buckets=",
    "num_heads": "heads=",
    "out_channels": "size=",
    "out_features": "size=",
    "output_dim": "size=",
    "p": "rate=",
    "units": "size=",
    "use_bias": "bias=",
}
"""Arguments of layers."""

LOSS: Mapping[str, str] = {
    "beta": "delta=",
    "class_weight": "weight=",
    "class_weights": "weight=",
    "from_logits": "the scores themselves: the loss takes their softmax or sigmoid",
    "ignore_index": "ar.OneOf or ar.Optional, which leave out the places that have no label",
    "pos_weight": "pos_weight= of ar.SigmoidCrossEntropy",
    "reduction": "the loss as it is, of one example: a model takes the mean over its batch",
    "size_average": "the loss as it is, of one example: a model takes the mean over its batch",
    "smoothing": "label_smoothing=",
}
"""Arguments of losses."""

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
