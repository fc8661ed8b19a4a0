"""Runs what a change of one kind has to pass, pages written anew: `make check-op`, `make check-layer`, ...

That is a part of `make test`, chosen for the kind, and the examples of the files that changed since the last
commit, and new files of tests. A missing piece is reported as what to add to which file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PASSES = "arrows/engine/program/passes"
MISSING = "tests/test_additions.py::test_{}"
ALWAYS = [
    "tests/docs/test_pages.py",
    "tests/test_layout.py::test_public_names_have_docstrings",
    "tests/test_layout.py::test_names_that_users_import_have_an_example",
]
# Kind -> the scripts that write its pages, and its tests besides `MISSING` and `ALWAYS`.
KINDS: dict[str, tuple[list[str], list[str]]] = {
    "op": (
        ["primitives"],
        [
            "tests/ops/test_primitives.py",
            "tests/engine/cuda/test_kernels.py::test_every_primitive",
        ],
    ),
    "block": (
        [],
        [
            "tests/generation/test_coverage.py",
            "tests/laws/test_laws.py::test_every_combinator_claims_a_law_or_says_why_not",
            "tests/inference/test_derived_blocks.py",
        ],
    ),
    "layer": ([], ["tests/generation/test_coverage.py", "tests/layers/test_layers.py"]),
    "form": (
        [],
        [
            "tests/generation/test_coverage.py",
            "tests/laws/test_laws.py::test_every_combinator_claims_a_law_or_says_why_not",
            "tests/combinators/test_core_forms.py",
        ],
    ),
    "pass": (["program"], [f"tests/{PASSES.removeprefix('arrows/')}/test_passes.py"]),
    "schedule": ([], ["--maxfail", "3", "tests/engine/scheduling"]),
    "metric": ([], ["tests/test_metrics.py"]),
    "optimizer": ([], ["tests/training/optimizers/test_optimizers.py"]),
}


def listed(command: str) -> list[str]:
    """The Python files that a command of git lists, and that are there."""
    done = subprocess.run(["git", *command.split()], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return [name for name in done.stdout.splitlines() if name.endswith(".py") and (ROOT / name).is_file()]


def main(kind: str) -> int:
    """Lints, writes the pages, and runs the tests; the exit status is 1 where anything fails."""
    if kind not in KINDS:
        print(f"no kind of change {kind!r}; there are: {', '.join(KINDS)}", file=sys.stderr)
        return 2
    pages, tests = KINDS[kind]
    new = listed("ls-files --others --exclude-standard")
    files = [name for name in (*new, *listed("diff --name-only HEAD")) if name.startswith("arrows/")]
    tests = [MISSING.format(kind), *tests, *ALWAYS]
    tests += files + [name for name in new if Path(name).name.startswith("test_")]
    options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    commands = [["-m", "ruff", "check", "--quiet", "--output-format", "concise", "."]]
    commands += [["-m", "ruff", "format", "--quiet", "--check", "."], [".ci/sizes.py"]]
    commands += [["-m", "mypy", "--strict", "--no-error-summary", *files]] if files else []
    commands += [[f"docs/make_{page}.py"] for page in pages]
    commands += [["-m", "pytest", *options, *dict.fromkeys(tests)]]
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in files if name.startswith(PASSES))
    if passes := [name for text in texts for name in re.findall(r"\ndef ([a-z]\w*)\(program", text)]:
        # Results must not change where a pass is left out.
        switched_off = ["tests/engine/test_switched_off.py", "-m", "", "-k", " or ".join(passes)]
        commands.append(["-m", "pytest", *options, *switched_off])
    failed = False
    for command in commands:
        failed |= bool(subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
