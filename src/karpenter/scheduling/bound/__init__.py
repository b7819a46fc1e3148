"""What no plan can undercut, with a proof that can be checked.

Here are numbers only, as in `packing`: a relaxation of the problem as a linear program, and a certificate made of its
duals. Whoever checks a certificate needs the problem's data and the duals, and nothing of this package.
"""
