"""What OpenDP takes for every pair of the columns of a Parquet file, and for exact draws: one line of JSON.

    python benches/peers/opendp_peer.py FILE.parquet DRAWS
"""

import itertools
import json
import resource
import sys
import time
import warnings

import opendp.prelude as dp
import polars as pl
from importlib.metadata import version

warnings.simplefilter("ignore")
dp.enable_features("contrib")


def tables(path):
    frame = pl.scan_parquet(path)
    pairs = list(itertools.combinations(frame.collect_schema().names(), 2))
    begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=0.5),
        split_evenly_over=len(pairs),
        margins=[dp.polars.Margin(by=list(pair), invariant="keys") for pair in pairs],
    )
    cells = sum(len(context.query().group_by(*pair).agg(dp.len()).release().collect()) for pair in pairs)
    end = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    cpu = end[0].ru_utime + end[0].ru_stime - begin[0].ru_utime - begin[0].ru_stime
    return {"cpu": cpu, "wall": end[1] - begin[1], "cells": cells}


def draws(n):
    domain, zeros, rates = dp.vector_domain(dp.atom_domain(T=int)), [0] * n, {}
    for scale in (1, 10, 1000):
        gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
        laplace = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
        for name, measure in (("gaussian", gaussian), ("laplace", laplace)):
            begin = time.process_time()
            measure(zeros)
            rates[f"{name} {scale}"] = n / (time.process_time() - begin)
    return rates


print(json.dumps({"version": version("opendp"), "tables": tables(sys.argv[1]), "draws": draws(int(sys.argv[2]))}))
