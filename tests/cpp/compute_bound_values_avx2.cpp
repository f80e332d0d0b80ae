#include "compute_bound_values.hpp"

#define compute_bound_avx2 compute_bound_avx2_of_the_tests
#include "compute_bound_avx2.cpp"

namespace taskgrain {

void avx2_values(std::int64_t iterations, double* values) { write_values<Block>(iterations, values); }

}  // namespace taskgrain
