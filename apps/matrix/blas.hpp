#pragma once

/// What the programs call of BLAS and LAPACK, on matrices by columns. OpenBLAS has both.

extern "C" {
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_dsyrk(int, int, int, int, int, double, const double*, int, double, double*, int);
void cblas_dtrsm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
void dpotrf_(const char*, const int*, double*, const int*, int*);
void openblas_set_num_threads(int);
int openblas_get_parallel();
}

#include <stdexcept>
#include <string>

#include "taskgrain/error.hpp"

namespace apps::blas {

inline constexpr int columns = 102, plain = 111, transposed = 112, lower = 122, any_diagonal = 131, right = 142;

/// \param callers  threads that call BLAS at a time
/// \param threads  that BLAS itself may use for each call
/// \throws taskgrain::InvalidSpec  with a build of OpenBLAS without threads: it has no locks either, and gives wrong
///   results now and then if several threads call it
inline void use(int callers, int threads) {
  if (callers * threads > 1 && openblas_get_parallel() == 0)
    throw taskgrain::InvalidSpec("threads", std::to_string(callers * threads),
                                 "1, because this OpenBLAS is built for one thread (libopenblas0-pthread is for more)");
  openblas_set_num_threads(threads);
}

/// C ← C + A·B, for A of m × k and B of k × n.
inline void gemm(int m, int n, int k, const double* a, const double* b, double* c) {
  cblas_dgemm(columns, plain, plain, m, n, k, 1.0, a, m, b, k, 1.0, c, m);
}

/// L of A = L·Lᵀ, in the lower triangle of A, of n × n.
inline void potrf(int n, double* a, int stride) {
  int info = 0;
  dpotrf_("L", &n, a, &stride, &info);
  if (info != 0) throw std::runtime_error("dpotrf: info = " + std::to_string(info));
}
/// A ← A·L⁻ᵀ, for A of m × n.
inline void trsm(int m, int n, const double* l, int l_stride, double* a, int stride) {
  cblas_dtrsm(columns, right, lower, transposed, any_diagonal, m, n, 1.0, l, l_stride, a, stride);
}
/// The lower triangle of C ← C - A·Aᵀ, for A of n × k.
inline void syrk(int n, int k, const double* a, int a_stride, double* c, int stride) {
  cblas_dsyrk(columns, lower, plain, n, k, -1.0, a, a_stride, 1.0, c, stride);
}
/// C ← C - A·Bᵀ, for A of m × k and B of n × k.
inline void gemm_transposed(int m, int n, int k, const double* a, int a_stride, const double* b, int b_stride,
                            double* c, int stride) {
  cblas_dgemm(columns, plain, transposed, m, n, k, -1.0, a, a_stride, b, b_stride, 1.0, c, stride);
}

}  // namespace apps::blas
