"""A program of petsc4py that knows nothing of blockjacobi: CG on an elastic grid with the blocks of its nodes.

Prints the type of the preconditioner, the reason and the iterations. Options as of PETSc."""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

NODES, UNKNOWNS = 16, 3
COUPLING = ((2.0, 0.9, 0.5), (0.9, 3.0, 0.2), (0.5, 0.2, 1.5))  # definite

A = PETSc.Mat().create(PETSc.COMM_WORLD)
A.setSizes(NODES * NODES * UNKNOWNS)
A.setBlockSize(UNKNOWNS)
A.setType("aij")
A.setPreallocationNNZ(5 * UNKNOWNS)
first, end = (row // UNKNOWNS for row in A.getOwnershipRange())
for node in range(first, end):
    i, j = divmod(node, NODES)
    stiffness = 10.0 ** (node * 7 % 5 - 2)  # of the node's own springs to the ground
    for k, m, weight in ((i, j, 4.0 + stiffness), (i - 1, j, -1.0), (i + 1, j, -1.0), (i, j - 1, -1.0), (i, j + 1, -1.0)):
        if 0 <= k < NODES and 0 <= m < NODES:
            A.setValuesBlocked([node], [k * NODES + m], [weight * value for row in COUPLING for value in row])
A.assemble()

x, b = A.createVecs()
b.setArray([1.0 + row % 7 for row in range(*b.getOwnershipRange())])
solver = PETSc.KSP().create(PETSc.COMM_WORLD)
solver.setOperators(A)
solver.setType("cg")
solver.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve(b, x)
PETSc.Sys.Print("RESULT", solver.getPC().getType(), solver.getConvergedReason(), solver.getIterationNumber())
