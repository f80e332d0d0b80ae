#pragma once

/// The BLAS of this build, if it has one.

#ifdef TASKGRAIN_BLAS
extern "C" {
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_daxpy(int, double, const double*, int, double*, int);
void openblas_set_num_threads(int);
}
#endif

namespace taskgrain::blas {

#ifdef TASKGRAIN_BLAS
inline constexpr bool available = true;

/// A task is one core's work.
inline void use_one_thread() { openblas_set_num_threads(1); }

/// C ← alpha·A·B + beta·C for matrices of n × n.
inline void dgemm(int n, double alpha, const double* a, const double* b, double beta, double* c) {
  constexpr int col_major = 102, no_trans = 111;
  cblas_dgemm(col_major, no_trans, no_trans, n, n, n, alpha, a, n, b, n, beta, c, n);
}

/// y ← alpha·x + y for vectors of n.
inline void daxpy(int n, double alpha, const double* x, double* y) { cblas_daxpy(n, alpha, x, 1, y, 1); }
#else
inline constexpr bool available = false;

// Nobody calls these: `Kernel` refuses the kernels that use BLAS.
inline void use_one_thread() {}
inline void dgemm(int, double, const double*, const double*, double, double*) {}
inline void daxpy(int, double, const double*, double*) {}
#endif

}  // namespace taskgrain::blas
