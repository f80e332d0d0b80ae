#pragma once

/// Reports the OpenMP version and the binding of threads, for systems on OpenMP. Header only, so that the core stays
/// free of OpenMP.

#include <omp.h>

#include <string>
#include <vector>

#include "taskgrain/binding.hpp"

namespace taskgrain {

/// The OpenMP of the compiler, and the compiler, whose runtime it is.
inline std::string openmp_version() {
#ifdef __clang__
  const std::string compiler = "LLVM " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  const std::string compiler = "GCC " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
  return "OpenMP " + std::to_string(_OPENMP) + ", " + compiler;
}

/// The threads that a parallel region gets: fewer than were asked for with OMP_THREAD_LIMIT or OMP_DYNAMIC.
inline int openmp_team() {
  int threads = 0;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  return threads;
}

/// The processors that each thread may run on, observed by itself.
inline std::vector<std::vector<int>> openmp_binding() {
  std::vector<std::vector<int>> binding;
#pragma omp parallel
  {
#pragma omp single
    binding.resize(static_cast<std::size_t>(omp_get_num_threads()));
    binding[static_cast<std::size_t>(omp_get_thread_num())] = binding_of_this_thread();
  }
  return binding;
}

}  // namespace taskgrain
