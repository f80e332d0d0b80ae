#pragma once

namespace apps {

/// Of the task of step k that writes block (i, j): the number of tasks on the longest path from it to the end, itself
/// included. potrf(k) writes (k, k), trsm(k, i) writes (i, k). (After Beaumont, Langou, Quach, Shilova 2020.)
///
/// potrf(i) has 3·(blocks - 1 - i) + 1. From trsm(k, i), potrf(i) is reached by i - k pairs of trsm and gemm; from
/// gemm(k, i, j), trsm(j, i) is reached by j - k gemms. All three cases give one formula.
inline int priority(int blocks, int k, int i, int j) { return 3 * blocks - 2 - i - j - k; }

}  // namespace apps
