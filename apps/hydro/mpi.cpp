/// Lagrangian hydrodynamics with MPI: each rank has a block. In each step it gets forces from its neighbours, and the
/// least time step of all.

#include "../steps/mpi.hpp"
#include "sod.hpp"

namespace {

using namespace apps;

class Hydro {
 public:
  Hydro(const StepsOptions& options, const World& world)
      : world_(world), options_(options), block_(block(options, world)), requests_(2 * block_.borders().size()),
        dt_(least(block_.clock().dt)) {}

  void run() {
    for (int step = 0; step < options_.steps; ++step) {
      auto request = requests_.begin();
      for (hydro::Border& border : block_.borders())
        MPI_Irecv(border.received.data(), 2 * static_cast<int>(border.received.size()), MPI_DOUBLE, border.block, 0,
                  MPI_COMM_WORLD, &*request++);
      block_.push(dt_);
      for (hydro::Border& border : block_.borders())
        MPI_Isend(border.sent.data(), 2 * static_cast<int>(border.sent.size()), MPI_DOUBLE, border.block, 0,
                  MPI_COMM_WORLD, &*request++);
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
      dt_ = least(block_.move().dt);
    }
  }

  Verified verify() {
    const std::vector<double> all = gathered(world_, block_.values());
    return world_.rank() == 0 ? hydro::sod::verify(all, options_.size, block_.clock().time) : Verified{};
  }
  static int tasks() { return 0; }

 private:
  static hydro::Block block(const StepsOptions& options, const World& world) {
    if (options.size < world.ranks())
      throw taskgrain::InvalidSpec("size", std::to_string(options.size), "the number of ranks, or more");
    return hydro::sod::block(hydro::sod::mesh(options.size), options, world.ranks(), world.rank());
  }
  static double least(double dt) {
    MPI_Allreduce(MPI_IN_PLACE, &dt, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return dt;
  }

  const World& world_;
  const StepsOptions options_;
  hydro::Block block_;
  std::vector<MPI_Request> requests_;
  double dt_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_mpi_steps<Hydro>(argc, argv, apps::hydro::sod::problem); }
