"""PageRank with networkit over the links in a file: prints the CPU seconds that it takes, without reading them.

Run by benchmarks/links.py, in an environment that has networkit and not Scoter.
"""
# mypy: ignore-errors

import sys
import time

import networkit
import numpy as np
from scipy.sparse import coo_matrix

found = np.load(sys.argv[1])
size = int(found["nodes"])
links = (np.ones(len(found["source"])), (found["source"], found["target"]))
graph = networkit.graph.GraphFromCoo(coo_matrix(links, shape=(size, size)), n=size, directed=True, weighted=False)
begun = time.process_time()
ranks = networkit.centrality.PageRank(graph, damp=0.85, tol=1e-6)
ranks.norm = networkit.centrality.Norm.L1_NORM
ranks.run()
print(time.process_time() - begun)
