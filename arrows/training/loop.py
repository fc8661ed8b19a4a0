"""The training loop: shuffled batches, a progress bar, figures after each epoch, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from arrows.engine import Bucketed, ByNodes
from arrows.engine.planning import GrowingParams
from arrows.engine.scheduling import checked_batch_size, epoch_batches
from arrows.files import require_path, require_replaceable
from arrows.training.arguments import (
    described,
    require_model,
    require_number,
    require_optimizer,
    whole_number,
)
from arrows.training.callbacks import Callback, checked_callbacks
from arrows.training.checkpointer import Checkpointer, require_no_state
from arrows.training.content import content_of
from arrows.training.evaluations import direction
from arrows.training.interrupt import Interrupts
from arrows.training.learner import Learner
from arrows.training.learning_rates import without_addresses
from arrows.training.optimizers import Optimizer
from arrows.training.parallel import Alone, ParallelRanks, Ranks, as_communicator
from arrows.training.progress import Epoch, Evaluation, History, Progress
from arrows.training.saving import STATE
from arrows.training.training_run import TrainingRun
from arrows.typesys import ArrowTypeError, ArrowValueError
from arrows.typesys.did_you_mean import explains_keywords
from arrows.typesys.foreign_names import TRAIN

NAN = ("stop", "ignore")


@explains_keywords(TRAIN)
def train(
    model: Learner,
    examples: object,
    optimizer: Optimizer,
    *,
    epochs: int = 1,
    batch_size: int | ByNodes | Bucketed = 64,
    accumulate: int = 1,
    seed: int = 0,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    evaluate_every: int | None = None,
    after_epoch: Callable[[Epoch], object] | None = None,
    callbacks: Iterable[Callback] = (),
    best_by: str | None = None,
    lower: bool | None = None,
    stop_when: Callable[[Sequence[Evaluation]], bool] | None = None,
    plateau: Callable[[Sequence[Evaluation]], float] | None = None,
    checkpoint_path: str | Path | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    keep_last: int = 2,
    resume: bool = False,
    overwrite: bool = False,
    metadata: Mapping[str, str] | None = None,
    nan: str = "stop",
    progress: bool = True,
    unit: str = "example",
    comm: object = None,
) -> History:
    """Trains a model; its parameters change in place.

    With `checkpoint_path`, the state of the run is saved there after each epoch (before and after its
    evaluation), as often as `checkpoint_every` and `checkpoint_seconds` say, and on Ctrl-C, once the current
    step is done; a second Ctrl-C does not wait. A run that was killed, even by `kill -9`, and is called again
    with `resume=True` continues from the last saved state, and ends with exactly the numbers of an
    uninterrupted run.  Without `resume`, a run never replaces the state that another one has left, unless
    `overwrite` says so.

    A resumed run may have other learning rates, another number of epochs, `batch_size`, `accumulate` or
    `plateau`; a line on standard error says what has changed.  A new batch size holds at once: the examples
    that the epoch under way has left go on, in their order, in batches of the new size (a `Bucketed` sorts
    and shuffles them).

    If the optimizer keeps averages, they stand in for the parameters during `evaluate`, `after_epoch` and the
    callbacks of evaluations and epochs.

    Args:
        model: from `arrows.compile`, or from `OnTheFly.learner`.
        examples: the examples, which are prepared here once: a list, any other iterable, or an object with a
            length and items (a PyTorch `Dataset`, say); or the result of `model.prepare`.
        optimizer: takes the steps.
        epochs: how many times to go through the examples, including epochs before a resumption.
        batch_size: examples in a batch; the last batch of an epoch may be smaller.  Or a rule: `ByNodes`, as
            many examples as have so many nodes, or `Bucketed`, examples of like size.
        accumulate: gradient accumulation: each step is taken on so many batches, which run one after another
            and whose gradients are summed up: the numbers of a batch so many times as large, to rounding, in
            the memory of one.
        seed: the order of the examples in an epoch depends only on this and on the epoch's number.
        evaluate: called after each epoch; returns figures by name, numbers of any kind, which become floats
            in the result.
        evaluate_every: also evaluate whenever this many more steps have been taken.
        after_epoch: called with each finished `Epoch`, for example to print or to save. After a resumption it
            may see an epoch again, if the state of the run was not saved in between.
        callbacks: are told of steps, evaluations and epochs: loggers, for example (`Callback`).
        best_by: the figure of `evaluate` that decides `Epoch.best` and `Evaluation.best`.
        lower: whether a lower figure of `best_by` is better; None: as its name says (`EarlyStopping`).
        stop_when: called with all evaluations after each; the run stops when it says so (`EarlyStopping`).
            The result's last epoch is then as long as it was.
        plateau: called likewise; all learning rates are multiplied by what it returns (`Plateau`).
        checkpoint_path: a file for the state of the run (`save_state`), in a folder that exists.
        checkpoint_every: also save the state whenever this many more steps have been taken.
        checkpoint_seconds: also save the state when it was last saved this many seconds ago.
        keep_last: how many states to keep, the newest at `checkpoint_path`, the one before at
            `CHECKPOINT_PATH.1`, and so on.
        resume: continue from `checkpoint_path`; if there is no such file, start from the beginning. If the
            file is damaged, or is the state of another run, a warning says so, and the state before it is
            taken. A state of other examples is one of another run: the numbers that a compiled model reads
            are compared by a hash, the examples of a network on the fly by their number alone.
        overwrite: replace a state that an earlier run has left at `checkpoint_path`.
        metadata: texts to save with the state. A resumed run must have the same texts, so put in here what
            its numbers depend on (the sizes of the model, the data).
        nan: what to do when the loss of a step, or a parameter at the end of an epoch, is not finite: "stop"
            before the step is taken and before anything is saved, or "ignore" it. On a GPU, no step waits for
            its loss: the losses of up to 64 steps, or of a second, are read together. The GPU itself leaves
            out the step whose loss is not finite and all after it, so that "stop" comes a little later, and
            leaves the same behind.
        progress: whether to draw a progress bar on standard error.
        unit: what the progress bar and the result call an example.
        comm: the processes that train together, such as `MPI.COMM_WORLD` of mpi4py (`arrows[mpi]`), each of
            which calls `train` with the same arguments. They divide the examples of each batch by their
            nodes, add up their gradients, and take the same steps: the numbers are those of one process, to
            rounding. All start with the parameters and the state of rank 0, which alone evaluates, calls
            `after_epoch` and callbacks, and reads and writes files. Ranks with other settings or examples are
            refused; callbacks may be given to rank 0 alone. An error of one rank ends all.

    Returns:
        A list with an `Epoch` for each epoch, including those before a resumption, which also has all
        `evaluations` and the `best` one. An epoch without examples has a loss of 0.

    Raises:
        ArrowTypeError: an argument of the wrong kind; nothing has been trained then. Or `evaluate` returns
            something other than figures by name.
        ArrowValueError: an argument is out of range, no state that is kept is whole and this run's, or there
            is a file at `checkpoint_path` and neither `resume` nor `overwrite`: the error says which.
        InputError: the model cannot read an example; nothing has been trained then.
        RankError: rank 0 has failed, or another one has before the first step; it names the reason.
        NotFiniteError: see `nan`; it names epoch, step, and the first parameter, input or operation that is
            not finite. Parameters and the optimizer's state are as they were before that step.
        OSError: the state cannot be read or written.
        KeyboardInterrupt: on Ctrl-C.

    >>> import arrows as ar
    >>> from arrows.training import SGD
    >>> halve = ar.Vector(2) >> ar.FC(1, name="fc") >> ar.Function(lambda y: (y[0] - 1.0) ** 2)
    >>> model = ar.compile(halve)
    >>> history = train(model, [[1.0, 0.0], [0.0, 1.0]], SGD(0.1), epochs=20, progress=False)
    >>> history[-1].loss < 0.1 * history[0].loss
    True
    """
    call = "train(model, examples, optimizer)"
    ranks = _ranks(comm)
    with ranks.guarded(), ranks.all_well():
        require_model(call, model, "prepare", "train_step")
        require_optimizer(call, optimizer, "step", "rates_of", "averages")
        epochs = whole_number("train: epochs", epochs, 0)
        batch_size = checked_batch_size("train", batch_size)
        accumulate = whole_number("train: accumulate", accumulate, 1)
        seed = whole_number("train: seed", seed, 0)
        if checkpoint_every is not None:
            checkpoint_every = whole_number("train: checkpoint_every", checkpoint_every, 1)
        keep_last = whole_number("train: keep_last", keep_last, 1)
        if evaluate_every is not None:
            evaluate_every = whole_number("train: evaluate_every", evaluate_every, 1)
        if checkpoint_seconds is not None:
            require_number("train: checkpoint_seconds", checkpoint_seconds)
            if not checkpoint_seconds >= 0:
                raise ArrowValueError(
                    f"train: checkpoint_seconds is {checkpoint_seconds}, and should be 0 or more"
                )
        functions = {
            "evaluate": evaluate,
            "after_epoch": after_epoch,
            "stop_when": stop_when,
            "plateau": plateau,
        }
        for name, function in functions.items():
            no_rule = isinstance(function, type) and name in ("stop_when", "plateau")
            if function is not None and (no_rule or not callable(function)):
                raise ArrowTypeError(f"train: {name} must be a function, not {described(function)}")
        if checkpoint_path is None and (resume or checkpoint_every or checkpoint_seconds is not None):
            raise ArrowValueError("train: without checkpoint_path there is no state to save or to resume")
        if resume and overwrite:
            raise ArrowValueError("train: resume goes on with a state, and overwrite replaces it; say one")
        needs = {
            "best_by": best_by,
            "evaluate_every": evaluate_every,
            "stop_when": stop_when,
            "plateau": plateau,
        }
        for name, value in needs.items():
            if value is not None and evaluate is None:
                raise ArrowValueError(
                    f"train: {name} is {value!r}, and evaluate, which gives figures, is missing"
                )
        lower_is_better = direction(best_by, lower, [stop_when, plateau])
        if nan not in NAN:
            raise ArrowValueError(f"train: nan is {nan!r}, and should be one of {', '.join(map(repr, NAN))}")
        path = None if checkpoint_path is None else require_path("train: checkpoint_path", checkpoint_path)
        # Whatever would make saving fail is refused now, not after an epoch of training.
        if path is not None or ranks.size > 1:
            require_optimizer(call, optimizer, *STATE)
        if not isinstance(model.params, GrowingParams):
            optimizer.rates_of(model)  # raises for patterns that match no parameter, before examples are read
        told = checked_callbacks(callbacks)
        if plateau is not None or told:
            require_optimizer(call, optimizer, "learning_rate", "rate_factor")
    with ranks.guarded():
        ranks.agree(
            {
                "epochs": epochs,
                "seed": seed,
                "batch_size": batch_size,
                "accumulate": accumulate,
                "the optimizer": _described(optimizer, model) if ranks.size > 1 else "",
                "evaluate_every": evaluate_every,
                "checkpoint_every": checkpoint_every,
                "resume": resume,
                "overwrite": overwrite,
                "nan": nan,
                "checkpoint_path": _given(path),
                "evaluate": _given(evaluate),
                "stop_when": _given(stop_when),
                "plateau": _given(plateau),
            }
        )
        if path is not None:
            ranks.from_first(partial(require_replaceable, path))
            if not resume:
                ranks.from_first(partial(require_no_state, path, keep_last, overwrite=overwrite))
        with ranks.all_well():
            prepared = ranks.prepare(model, examples)
            optimizer.rates_of(model)  # a network on the fly has its parameters now
            epoch_batches(batch_size, prepared, len(prepared), (seed, 1))  # raises where nodes are not known
        run = Progress(
            seed=seed,
            batch_size=batch_size,
            accumulate=accumulate,
            examples=len(prepared),
            content="" if path is None else content_of(model, prepared),
            epochs=epochs,
            plateau="" if plateau is None else without_addresses(repr(plateau)),
        )
        ranks.connect(model, prepared)
        checkpointer = Checkpointer(
            model=model,
            optimizer=optimizer,
            run=run,
            path=path if ranks.first else None,
            every=checkpoint_every,
            seconds=checkpoint_seconds,
            metadata=metadata or {},
            stop_at_nan=nan == "stop",
            keep=keep_last,
        )
        if resume and path is not None:
            ranks.from_first(checkpointer.resume)
        ranks.share_state(model, optimizer, run)
        several = ranks.size > 1
        with Interrupts(held=path is not None or several, terminated=several) as interrupts:
            TrainingRun(
                prepared=prepared,
                batch_size=batch_size,
                checkpointer=checkpointer,
                epochs=epochs,
                evaluate=evaluate,
                evaluate_every=evaluate_every,
                best_by=best_by,
                lower=lower_is_better,
                stop_when=stop_when,
                plateau=plateau,
                callbacks=told,
                after_epoch=after_epoch,
                bar=progress,
                unit=unit,
                ranks=ranks,
                interrupts=interrupts,
            ).finish()
            if interrupts.came:  # while the last state was saved
                raise KeyboardInterrupt
    return History(run.history, run.evaluations)


def _ranks(comm: object) -> Ranks:
    communicator = None if comm is None else as_communicator(comm)
    return Alone() if communicator is None or communicator.size == 1 else ParallelRanks(communicator)


def _given(value: object) -> str | None:
    """What ranks compare where they may have another value, but not one and none."""
    return None if value is None else "given"


def _described(optimizer: Optimizer, model: Learner) -> str:
    """What ranks compare: of learning rates that are functions, the numbers for the next step."""
    rates = {} if isinstance(model.params, GrowingParams) else optimizer.rates_of(model)
    return f"{optimizer.settings}, rates {optimizer.rates_text} {sorted(set(rates.values()))}"
