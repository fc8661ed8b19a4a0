"""Estimators of scikit-learn made of blocks: they classify and regress documents, or whatever a block reads.

They stand wherever scikit-learn takes an estimator: in `cross_val_score`, `GridSearchCV`, `VotingClassifier`,
at the end of a `Pipeline`.  `pip install 'arrows[sklearn]'` installs scikit-learn.

>>> from arrows.sklearn import DocumentClassifier
>>> posts = [{"words": n % 7, "tags": ["cat"] * (n % 2)} for n in range(40)]
>>> kinds = ["cat" if post["tags"] else "dog" for post in posts]
>>> model = DocumentClassifier(epochs=20, random_state=0).fit(posts, kinds)
>>> model.predict([{"words": 3, "tags": ["cat"]}, {"words": 3}]).tolist()
['cat', 'dog']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import arrows as ar
from arrows.arrays import HostArray
from arrows.combinators import AnyBlock
from arrows.documents import build_block, field_losses, infer_block
from arrows.engine.scheduling import as_stream
from arrows.models import average_of
from arrows.training import Adam, EarlyStopping, Epoch, History, described, require_range, train, whole_number
from arrows.typesys import ArrowTypeError, MissingExtraError, quoted, shortened

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        _check_y,
        check_consistent_length,
        check_is_fitted,
        validate_data,
    )
except ModuleNotFoundError as error:
    raise MissingExtraError("arrows.sklearn needs scikit-learn", "sklearn", error.name) from error

__all__ = ["BlockClassifier", "BlockRegressor", "DocumentClassifier", "DocumentRegressor"]

_BATCH = 256  # samples that are measured at once
_FEW = 20  # a loss of fewer samples says too little to stop by
_NO_NUMBER = {"NAType", "NaTType"}  # of pandas
# The models that predict, which no pickle takes.
_MODELS: WeakKeyDictionary[Any, list[ar.Model]] = WeakKeyDictionary()

About = dict[str, Any]
"""The attributes that say what a model's scores stand for."""


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What all four have in common: a block reads a sample as a vector, and a layer on that predicts."""

    _kept: str  # the attribute that holds what `_decide` gives
    _about: About
    params_: list[Mapping[str, HostArray]]

    def _samples(self, X: Any, fits: bool) -> list[Any]:
        """The samples one by one, as the block reads them."""
        raise NotImplementedError

    def _decide(self, samples: list[Any]) -> Any:
        """How samples are read."""
        raise NotImplementedError

    def _vector(self, decided: Any) -> AnyBlock:
        """The block that reads a sample as a vector."""
        raise NotImplementedError

    def _targets(self, y: Any, about: About | None) -> tuple[HostArray, About]:
        """What the model learns for each label."""
        raise NotImplementedError

    def _ends(self, about: About) -> tuple[AnyBlock, AnyBlock, AnyBlock]:
        """The layer from a vector to scores, what reads a target, and the loss of both."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learns from samples; what an interrupted fit has learnt is lost, and what was learnt before stays.

        Args:
            X: the samples: a list, an array with a row for each, an array of objects, or a frame of pandas.
            y: a label for each.
            sample_weight: how much the loss of each counts.

        Returns:
            The estimator.

        Raises:
            ValueError: X, y and the weights do not fit one another; an `InputError` says which sample cannot
                be read, and why.
            TypeError: an `ArrowTypeError` says why a block gives no vector.
        """
        name = type(self).__name__
        for argument in ("ensemble", "batch_size"):
            whole_number(f"{name}: {argument}", getattr(self, argument), 1)
        require_range(name, "validation_fraction", self.validation_fraction, 0.0, 1.0)
        again = self.warm_start and hasattr(self, "params_")
        with _kept_if_it_fails(self):
            samples = self._samples(X, fits=not again)
            if again and len(self.params_) != self.ensemble:
                raise ValueError(f"warm_start goes on with ensemble={len(self.params_)}, not {self.ensemble}")
            targets, about = self._targets(y, self._about if again else None)
            check_consistent_length(samples, targets)
            weights = _check_sample_weight(sample_weight, samples, dtype=np.float64, ensure_non_negative=True)
            examples = _examples(samples, targets, weights)
            decided = getattr(self, self._kept) if again else self._decide(samples)
            starts = self.params_ if again else [None] * self.ensemble
            seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(starts)).tolist()
            ar.infer(self._scores(decided, about))  # an error names a place of the block as the user wrote it
            learn = self._learn(decided, about)
            fits = [self._train(learn, examples, *each) for each in zip(seeds, starts, strict=True)]
        self.__dict__.update(about)
        setattr(self, self._kept, decided)
        self.params_, self.history_ = [params for params, _ in fits], [history for _, history in fits]
        self._about = about
        _MODELS.pop(self, None)
        return self

    def _scores(self, decided: Any, about: About) -> AnyBlock:
        return self._vector(decided) >> self._ends(about)[0]

    def _learn(self, decided: Any, about: About) -> AnyBlock:
        """From a sample with its target and weight to the loss."""
        _, target, loss = self._ends(about)
        scores, weight = self._scores(decided, about), ar.GetItem("weight") >> ar.Scalar()
        loss = (ar.GetItem("sample") >> scores & ar.GetItem("target") >> target) >> loss
        return (loss & weight) >> ar.Function(lambda each, counts: each * counts)

    def _train(
        self, learn: AnyBlock, examples: list[Any], seed: int, start: Mapping[str, HostArray] | None
    ) -> tuple[Mapping[str, HostArray], History]:
        """Trains a model; gives its parameters, the best ones if some of the samples validate."""
        model = ar.compile(learn, seed=seed, params=start, device=self.device)
        prepared, order = model.prepare(examples), np.random.default_rng(seed).permutation(len(examples))
        count = int(self.validation_fraction * len(examples))
        held, order = order[:count], order[count:]

        best = dict[str, HostArray]()

        def keep(epoch: Epoch) -> None:
            if epoch.best:
                best.update(_copied(model))

        validation: dict[str, Any] = {}
        if count >= _FEW:
            validation = {"evaluate": lambda: {"loss": _mean(model, prepared[held])}, "best_by": "loss"}
            validation["callbacks"] = [keep, EarlyStopping("loss", self.patience)]
        average = average_of(len(order), self.batch_size)
        optimizer = Adam(self.learning_rate, weight_decay=self.l2, clip_norm=5.0, average=average)
        history = train(
            model,
            prepared[order],
            optimizer,
            epochs=self.epochs,
            batch_size=self.batch_size,
            seed=seed,
            progress=self.progress,
            **validation,
        )
        with optimizer.use_averages(model):
            return best or _copied(model), history

    def _members(self, X: Any) -> HostArray:
        """The scores by each model of the ensemble, `[models, samples, ...]`."""
        check_is_fitted(self, "params_")
        samples = self._samples(X, fits=False)
        if self not in _MODELS:
            block = self._scores(getattr(self, self._kept), self._about)
            _MODELS[self] = [ar.compile(block, params=each, device=self.device) for each in self.params_]
        return np.stack([model.predict(samples, batch_size=_BATCH) for model in _MODELS[self]])

    def _spread(self, members: HostArray) -> HostArray:
        if len(members) == 1:
            raise ValueError("return_std: the standard deviation of an ensemble needs ensemble=2 or more")
        deviations: HostArray = members.std(axis=0)
        return deviations


class _Classifier(ClassifierMixin):  # type: ignore[misc]
    def _targets(self, y: Any, about: About | None) -> tuple[HostArray, About]:
        y = _check_y(_required(self, y), estimator=self)
        check_classification_targets(y)
        about = about or {"classes_": np.unique(y)}
        unknown = sorted(map(str, {*y.tolist()}.difference(about["classes_"].tolist())))
        if unknown:
            raise ValueError(f"y has classes that the model was not fitted to: {', '.join(unknown)}")
        return np.searchsorted(about["classes_"], y), about

    def _ends(self, about: About) -> tuple[AnyBlock, AnyBlock, AnyBlock]:
        layer = ar.FC(len(about["classes_"]), name="class scores")
        return layer, ar.Scalar("int32"), ar.SoftmaxCrossEntropy()

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """The probability of each class, `[samples, classes]`: of an ensemble, the mean of its models'.

        Args:
            X: as that of `fit`.
            return_std: also give the standard deviation over the models of the ensemble, of the same shape.
        """
        scores = self._members(X).astype(np.float64)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        mean = shares.mean(axis=0)
        return (mean, self._spread(shares)) if return_std else mean

    def predict(self, X: Any) -> HostArray:
        """The most probable class of each sample."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])


class _Regressor(RegressorMixin):  # type: ignore[misc]
    def _targets(self, y: Any, about: About | None) -> tuple[HostArray, About]:
        y = _check_y(_required(self, y), y_numeric=True, estimator=self).astype(np.float64)
        about = about or {"mean_": float(y.mean()), "std_": float(y.std()) or 1.0}
        return (y - about["mean_"]) / about["std_"], about

    def _ends(self, about: About) -> tuple[AnyBlock, AnyBlock, AnyBlock]:
        return ar.FC([], name="estimate"), ar.Scalar(), ar.SquaredError()

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The number of each sample, float64: of an ensemble, the mean of its models'.

        Args:
            X: as that of `fit`.
            return_std: also give the standard deviation over the models of the ensemble.
        """
        numbers = self._members(X).astype(np.float64) * self.std_ + self.mean_
        mean = numbers.mean(axis=0)
        return (mean, self._spread(numbers)) if return_std else mean


class _Documents(_Estimator):
    _kept = "decisions_"

    def __init__(
        self,
        *,
        width: int = 32,
        dropout: float = 0.3,
        ignore: Collection[str] = (),
        kinds: Mapping[str, str] | None = None,
        epochs: int = 50,
        batch_size: int = 32,
        learning_rate: float = 0.003,
        l2: float = 1e-4,
        validation_fraction: float = 0.1,
        patience: int = 7,
        ensemble: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        _keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.dict = tags.input_tags.string = True
        return tags

    def _samples(self, X: Any, fits: bool) -> list[Any]:
        if isinstance(X, list):  # rows of numbers are a table
            numbers = bool(fits and X) and all(isinstance(row, list) and len(row) == len(X[0]) for row in X)
            numbers = numbers and all(isinstance(each, (int, float)) for row in X for each in row)
            X = np.array(X) if numbers or hasattr(self, "n_features_in_") else X
        rows, table = _rows(self, X, fits, ensure_all_finite="allow-nan"), hasattr(X, "columns")
        if isinstance(rows[0], np.ndarray):  # as scikit-learn calls columns without names
            rows = [{f"x{place}": value for place, value in enumerate(row.tolist())} for row in rows]
            table = True
        fitted = [] if fits else self.decisions_["$"].get("fields", [])
        if fitted and table and hasattr(self, "n_features_in_"):  # columns are known by their place
            rows = [dict(zip(fitted, row.values(), strict=True)) for row in rows]
        elif fitted and (table or hasattr(self, "n_features_in_")):
            found = {name: None for row in rows if isinstance(row, dict) for name in row}
            if found and found.keys().isdisjoint(fitted):
                lacks, has = (shortened(", ".join(map(quoted, names)), 100) for names in (fitted, found))
                raise ValueError(f"X has none of {lacks}, which the model was fitted to, but {has}")
        return _plain(rows)

    def _decide(self, samples: list[Any]) -> Any:
        width = whole_number(f"{type(self).__name__}: width", self.width, 1)
        return infer_block(samples, wide=True, width=width, ignore=self.ignore, kinds=self.kinds).decisions

    def _vector(self, decided: Any) -> AnyBlock:
        block = build_block(decided)
        return block >> ar.Dropout(self.dropout) if self.dropout else block

    def field_losses(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """How much each field matters: the mean loss when its values are exchanged among the documents.

        Measure by documents that the model has not learnt from.  Fields that carry the same information
        replace one another, so that none of them seems to matter.

        Args:
            X, y, sample_weight: as those of `fit`.

        Returns:
            The loss by path, which is the cross-entropy, or the squared error in standard deviations. The
            path `$` has that of the documents as they are.

        >>> ages = [{"age": n % 9, "name": "ab"[n % 2]} for n in range(90)]
        >>> model = DocumentRegressor(random_state=0).fit(ages, [n % 9 for n in range(90)])
        >>> losses = model.field_losses(ages, [n % 9 for n in range(90)])
        >>> losses["age"] > 1 > losses["$"]
        True
        """
        check_is_fitted(self, "params_")
        samples, targets = self._samples(X, fits=False), self._targets(y, self._about)[0]
        check_consistent_length(samples, targets)
        weights = _check_sample_weight(sample_weight, samples, dtype=np.float64)
        learn = self._learn(self.decisions_, self._about)
        models = [ar.compile(learn, params=each, device=self.device) for each in self.params_]

        def loss(documents: list[Any]) -> float:
            examples = _examples(documents, targets, weights)
            return float(np.mean([model.predict(examples, batch_size=_BATCH) for model in models]))

        return field_losses(loss, samples, self.decisions_)


class _Blocks(_Estimator):
    _kept = "block_"

    def __init__(
        self,
        block: Any,
        *,
        epochs: int = 50,
        batch_size: int = 32,
        learning_rate: float = 0.003,
        l2: float = 0.0,
        validation_fraction: float = 0.1,
        patience: int = 7,
        ensemble: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        _keep(self, locals())

    def _samples(self, X: Any, fits: bool) -> list[Any]:
        rows = _rows(self, X, fits)
        return _plain(rows) if hasattr(X, "columns") else rows

    def _decide(self, samples: list[Any]) -> Any:
        made = (
            self.block
            if isinstance(self.block, ar.Block) or not callable(self.block)
            else self.block(samples)
        )
        if not isinstance(made, ar.Block):
            kind = described(made)
            raise ArrowTypeError(
                f"{type(self).__name__}: expected a block, or a function that gives one, not {kind}"
            )
        return made

    def _vector(self, decided: Any) -> Any:
        return decided


class DocumentClassifier(_Classifier, _Documents):
    """A classifier of documents: JSON values of any shape, or the rows of a table.

    The block that reads them is inferred from those to learn from (`ar.infer_block`).  NaN stands for a
    missing value, and a field that is new at prediction is ignored.  A model fitted to a table predicts
    tables of as many columns, in the same order.

    Args:
        width, ignore, kinds: as those of `ar.infer_block`.
        dropout: dropout rate of the document's vector.
        epochs: how many times to go through the samples, at most.
        batch_size: samples in a step.
        learning_rate: of Adam.
        l2: weight decay.
        validation_fraction: the share of the samples that is held out, to decide when to stop and which
            epoch's parameters to keep.  Where that is fewer than 20 samples, none is, and all epochs run.
        patience: so many epochs in a row may bring no lower loss of these.
        ensemble: how many models to train, with other first values, order and held-out samples; their mean
            predicts, and their spread says how sure that is (`return_std`).
        warm_start: whether another `fit` goes on from the parameters and the block of the last one.
        random_state: an integer for the same numbers each time, a `RandomState`, or None.
        device: "cpu", or "cuda" for a GPU.
        progress: whether to draw a progress bar.

    Attributes:
        classes_: the labels that were fitted, in their order.
        decisions_: how documents are read, and why (`Proposal.decisions`).
        params_: the parameters of each model of the ensemble, arrays by name.
        history_: the epochs of each, as `ar.training.train` gives them.

    >>> posts = [{"stars": n % 5, "text": "good" if n % 5 > 2 else "bad"} for n in range(50)]
    >>> good = [post["stars"] > 2 for post in posts]
    >>> model = DocumentClassifier(ensemble=3, epochs=10, random_state=0).fit(posts, good)
    >>> shares, deviations = model.predict_proba([{"text": "good"}], return_std=True)
    >>> model.predict([{"text": "good"}]).item(), shares.shape, deviations.shape
    (True, (1, 2), (1, 2))
    """


class DocumentRegressor(_Regressor, _Documents):
    """Predicts a number of a document; arguments and attributes as those of `DocumentClassifier`.

    Attributes:
        mean_, std_: of the labels, which are learnt standardised.

    >>> posts = [{"stars": n % 5, "text": "good" if n % 5 > 2 else "bad"} for n in range(50)]
    >>> model = DocumentRegressor(random_state=0).fit(posts, [post["stars"] for post in posts])
    >>> model.score(posts, [post["stars"] for post in posts]) > 0.9
    True
    """


class BlockClassifier(_Classifier, _Blocks):
    """A classifier of whatever a block reads: trees, sequences, graphs, arrays.

    A layer on the block's vector gives the scores of the classes.

    Args:
        block: from a sample to a vector, float32[n]; or a function that gives such a block for the list of
            samples to learn from, such as one that makes a vocabulary of them.

    The other arguments are those of `DocumentClassifier`.

    Attributes:
        block_: the block, made of the samples where a function makes it.
        classes_, params_, history_: as those of `DocumentClassifier`.

    A row of a frame of pandas is read as a dict, a row of an array as an array.  A pickle holds the block, so
    the functions in it must be such as can be imported; cloudpickle also takes lambdas and what a script
    defines.

    >>> def bag(texts):
    ...     words = ar.Vocabulary.of(word for text in texts for word in text)
    ...     return ar.Map(words.block() >> ar.Embedding(len(words), 8)) >> ar.Mean(default=0.0)
    >>> texts = [["so", "good"], ["so", "bad"]] * 20
    >>> model = BlockClassifier(bag, random_state=0).fit(texts, ["+", "-"] * 20)
    >>> model.predict([["good"], ["bad"]]).tolist()
    ['+', '-']
    """


class BlockRegressor(_Regressor, _Blocks):
    """Predicts a number of whatever a block reads; arguments and attributes as those of `BlockClassifier`.

    Attributes:
        mean_, std_: of the labels, which are learnt standardised.

    >>> model = BlockRegressor(ar.Map(ar.Vector(1)) >> ar.Sum(), learning_rate=0.1, random_state=0)
    >>> lists = [[[1.0]] * (n % 9) for n in range(90)]
    >>> model.fit(lists, [len(each) for each in lists]).predict([[[1.0]] * 4]).round().tolist()
    [4.0]
    """


def _rows(estimator: _Estimator, X: Any, fits: bool, **checks: Any) -> list[Any]:
    """The samples of whatever scikit-learn takes; arrays and frames are checked as it checks them."""
    if fits:
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
    if not isinstance(X, (list, tuple)) and not hasattr(X, "iloc") and hasattr(X, "__array__"):
        X = np.asarray(X)
    numeric = hasattr(X, "nnz") or (  # a sparse matrix is refused
        isinstance(X, np.ndarray) and X.dtype.kind not in "OUS"
    )
    if numeric:
        X = validate_data(estimator, X, reset=fits, dtype=None, **checks)
    elif getattr(X, "ndim", 1) == 2:
        validate_data(estimator, X, reset=fits, skip_check_array=True)
    rows = [*as_stream(X, "fit" if fits else "predict")]
    if hasattr(X, "columns"):
        rows = [{str(name): value for name, value in row.items()} for row in rows]
    if not rows:
        raise ValueError(f"{type(estimator).__name__}: there are no samples in X; at least 1 is needed")
    return rows


def _examples(samples: list[Any], targets: HostArray, weights: HostArray) -> list[Any]:
    """What the model learns from; weights count as parts of their mean."""
    parts = zip(samples, targets.tolist(), (weights / weights.mean()).tolist(), strict=True)
    return [{"sample": sample, "target": target, "weight": weight} for sample, target, weight in parts]


@contextmanager
def _kept_if_it_fails(estimator: BaseEstimator) -> Iterator[None]:
    """Takes back what a `with` block that fails has set: scikit-learn notes the columns before it checks."""
    before = {**vars(estimator)}
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _keep(estimator: BaseEstimator, arguments: dict[str, Any]) -> None:
    """Gives each argument to an attribute of its name, where scikit-learn looks for it."""
    vars(estimator).update({name: value for name, value in arguments.items() if name != "self"})


def _required(estimator: BaseEstimator, y: Any) -> Any:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    return y


def _plain(rows: list[Any]) -> list[Any]:
    """Copies of documents as plain JSON: dates are texts, and NaN and other missing values None."""
    copies = [*rows]
    waiting: list[Any] = [copies]
    for container in waiting:  # grows
        for key, value in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(value, (np.ndarray, np.generic)):
                value = value.tolist()
            if isinstance(value, dict):
                value = {**value}
                waiting.append(value)
            elif isinstance(value, (list, tuple)):
                value = [*value]
                waiting.append(value)
            elif type(value).__name__ in _NO_NUMBER or (isinstance(value, float) and value != value):
                value = None
            elif isinstance(value, date):  # or a time, of pandas too
                value = value.isoformat()
            container[key] = value
    return copies


def _mean(model: ar.Model, batch: Any) -> float:
    losses = model.predict(batch, batch_size=_BATCH)
    return float(np.mean(losses))


def _copied(model: ar.Model) -> dict[str, HostArray]:
    return {name: np.array(ar.to_numpy(array)) for name, array in model.params.items()}
