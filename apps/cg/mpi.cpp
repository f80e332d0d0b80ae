/// Conjugate gradients with MPI: each rank has a block. The elements of r that it needs of the ranks beside it come
/// with the parts of r·r, so a step has two collective operations and no other messages.

#include "../steps/mpi.hpp"
#include "poisson.hpp"

namespace {

using namespace apps;

class Solver {
 public:
  Solver(const StepsOptions& options, const World& world)
      : world_(world), steps_(options.steps), chunks_(options, world.ranks(), "size"),
        curvature_parts_(chunks_, world, curvature_), residual_parts_(chunks_, world, residuals_),
        block_(chunks_, static_cast<std::size_t>(world.rank())) {
    block_.descend(curvature_, residuals_);
    residual_parts_.gather();
  }

  void run() {
    for (int step = 0; step < steps_; ++step) {
      block_.advance(residuals_, curvature_);
      curvature_parts_.gather();
      block_.descend(curvature_, residuals_);
      residual_parts_.gather();
    }
  }

  Verified verify() {
    const std::vector<double> all = gathered(world_, block_.x());
    return world_.rank() == 0 ? cg::verify(all, cg::sum(residuals_), steps_) : Verified{};
  }
  static int tasks() { return 0; }

 private:
  /// The parts of all ranks, which all get: MPI_Allreduce does not say in which order it adds.
  struct Parts {
    template <typename Part>
    Parts(const cg::Chunks& chunks, const World& world, std::array<Part, cg::most_chunks>& parts) : all(parts.data()) {
      for (std::size_t rank = 0; rank <= static_cast<std::size_t>(world.ranks()); ++rank) {
        begins.push_back(static_cast<int>(chunks.first(rank) * sizeof(Part) / sizeof(double)));
        if (rank > 0) counts.push_back(begins[rank] - begins[rank - 1]);
      }
    }
    void gather() {
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, all, counts.data(), begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
    }

    void* all;
    std::vector<int> begins, counts;
  };

  const World& world_;
  const int steps_;
  const cg::Chunks chunks_;
  cg::Curvature curvature_{};
  cg::Residuals residuals_{};
  Parts curvature_parts_, residual_parts_;
  cg::Block block_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_mpi_steps<Solver>(argc, argv, apps::cg::problem); }
