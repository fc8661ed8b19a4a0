"""Lowering, once a model: writes the Python function that reads an example.

`lower` walks a typed expression and writes the source of a function that turns one example into nodes, along
with the *sites* that the nodes belong to and the flow between them.  Nothing here sees an example.
`arrows.engine.planning` decides how the nodes are grouped; `arrows.engine.reading` puts the last numbers into
the source, compiles it and runs it.
"""

from __future__ import annotations

from arrows.engine.lowering.lower import lower as lower
from arrows.engine.lowering.merge_chains import Composed as Composed, Compositions as Compositions
from arrows.engine.lowering.sites import (
    KeyLine as KeyLine,
    Lowered as Lowered,
    Port as Port,
    Site as Site,
    SiteKind as SiteKind,
    Streams as Streams,
    ValueStreams as ValueStreams,
    observed_sites as observed_sites,
)
