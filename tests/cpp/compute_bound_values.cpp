#include "compute_bound_values.hpp"

#define compute_bound_portable compute_bound_portable_of_the_tests
#include "compute_bound_portable.cpp"

namespace taskgrain {

void portable_values(std::int64_t iterations, double* values) { write_values<Block>(iterations, values); }

}  // namespace taskgrain
