#include "world.hpp"

#include <stdexcept>

#include "taskgrain/binding.hpp"

namespace apps {

World::World(int& argc, char**& argv, int thread_level) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, thread_level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank_on_host_);
  MPI_Comm_free(&host);
  if (provided < thread_level) throw std::runtime_error("this MPI cannot be used by as many threads as needed");
}

World::~World() { MPI_Finalize(); }

void World::barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

double World::max(double value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

std::int64_t World::sum(std::int64_t value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

void World::sum(std::span<double> values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

std::vector<int> World::processors(int threads) const {
  const std::vector<int> all = taskgrain::cores();
  std::vector<int> own;
  for (int k = 0; k < threads; ++k)
    own.push_back(all[static_cast<std::size_t>(rank_on_host_ * threads + k) % all.size()]);
  return own;
}

}  // namespace apps
