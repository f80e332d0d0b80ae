#include "compute_bound_values.hpp"

#define compute_bound_neon compute_bound_neon_of_the_tests
#include "compute_bound_neon.cpp"

namespace taskgrain {

void neon_values(std::int64_t iterations, double* values) { write_values<Block>(iterations, values); }

}  // namespace taskgrain
