/// The star stencil with MPI: each rank has a strip, and gets two rows from each neighbour before a step.

#include "../steps/mpi.hpp"
#include "star.hpp"

namespace {

using namespace apps;

class Stencil {
 public:
  Stencil(const StepsOptions& options, const World& world)
      : world_(world), size_(options.size), steps_(options.steps), strip_(size_, world.ranks(), world.rank()) {
    if (size_ / world.ranks() < star::radius)
      throw taskgrain::InvalidSpec("size", std::to_string(size_), "two rows or more for each rank");
    in_.resize(static_cast<std::size_t>((strip_.end - strip_.begin + 2 * star::radius) * size_));
    out_.resize(in_.size());
    for (std::int64_t row = strip_.begin; row < strip_.end; ++row)
      for (std::int64_t k = 0; k < size_; ++k) at(in_, row)[k] = star::initial(row, k);
  }

  void run() {
    const auto count = static_cast<int>(star::radius * size_);
    const int above = world_.rank() > 0 ? world_.rank() - 1 : MPI_PROC_NULL;
    const int below = world_.rank() + 1 < world_.ranks() ? world_.rank() + 1 : MPI_PROC_NULL;
    for (int step = 0; step < steps_; ++step) {
      MPI_Request requests[4];
      MPI_Irecv(at(in_, strip_.begin - star::radius), count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(at(in_, strip_.end), count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
      MPI_Isend(at(in_, strip_.begin), count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
      MPI_Isend(at(in_, strip_.end - star::radius), count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      star::apply(at(in_, 0), at(out_, 0), size_, strip_);
      star::add_one(own(in_));
    }
  }

  Verified verify() {
    const std::vector<double> all = gathered(world_, own(out_));
    return world_.rank() == 0 ? star::verify(all, size_, steps_) : Verified{};
  }
  static int tasks() { return 0; }

 private:
  double* at(std::vector<double>& grid, std::int64_t row) {
    return grid.data() + (row - strip_.begin + star::radius) * size_;
  }
  std::span<double> own(std::vector<double>& grid) { return {at(grid, strip_.begin), at(grid, strip_.end)}; }

  const World& world_;
  const std::int64_t size_;
  const int steps_;
  const star::Strip strip_;
  std::vector<double> in_, out_;  // the strip, and two rows on either side
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_mpi_steps<Stencil>(argc, argv, apps::star::problem); }
