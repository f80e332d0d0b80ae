#include "compute_bound_values.hpp"

#define compute_bound_avx512 compute_bound_avx512_of_the_tests
#include "compute_bound_avx512.cpp"

namespace taskgrain {

void avx512_values(std::int64_t iterations, double* values) { write_values<Block>(iterations, values); }

}  // namespace taskgrain
