/// The gas with MPI: each rank has a block, and gets its ghosts before each stage.

#include "../steps/mpi.hpp"
#include "euler.hpp"

namespace {

using namespace apps;

class Aero {
 public:
  Aero(const StepsOptions& options, const World& world)
      : world_(world), size_(options.size), steps_(options.steps), mesh_(euler::box(size_)),
        partition_(mesh_, world.ranks()), block_(mesh_, partition_, world.rank()), old_(block_.initial()), now_(old_) {
    if (size_ < world.ranks())
      throw taskgrain::InvalidSpec("size", std::to_string(size_), "as many as there are ranks, or more");
    for (const auto& one : block_.neighbours()) borders_.emplace_back(one.sends.size());
    requests_.resize(2 * borders_.size());
  }

  void run() {
    const double step = euler::time_step(size_, steps_);
    for (int k = 0; k < steps_; ++k)
      for (std::size_t stage = 0; stage < euler::stages.size(); ++stage) {
        std::vector<euler::Cell>& now = stage == 0 ? old_ : now_;
        exchange(now);
        block_.advance(now, old_, stage + 1 == euler::stages.size() ? old_ : now_, euler::stages[stage] * step);
      }
  }

  Verified verify() {
    const std::vector<double> all = gathered(world_, euler::values(old_, block_.own()));
    return world_.rank() == 0 ? euler::verify(mesh_, partition_, all, size_, steps_) : Verified{};
  }
  static int tasks() { return 0; }

 private:
  /// Ghosts arrive where they belong. Faces do not start before all are there: a cell adds its faces in their order.
  void exchange(std::vector<euler::Cell>& now) {
    const auto doubles = [](std::size_t cells) { return static_cast<int>(cells * std::tuple_size_v<euler::Cell>); };
    MPI_Request* request = requests_.data();
    for (const auto& one : block_.neighbours())
      MPI_Irecv(&now[one.begin], doubles(one.theirs.size()), MPI_DOUBLE, one.block, 0, MPI_COMM_WORLD, request++);
    auto border = borders_.begin();
    for (const auto& one : block_.neighbours()) {
      for (std::size_t k = 0; k < one.sends.size(); ++k) (*border)[k] = now[static_cast<std::size_t>(one.sends[k])];
      MPI_Isend(border->data(), doubles(border->size()), MPI_DOUBLE, one.block, 0, MPI_COMM_WORLD, request++);
      ++border;
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  const World& world_;
  const std::int64_t size_;
  const int steps_;
  const euler::Mesh mesh_;
  const euler::Partition partition_;
  euler::Block block_;
  std::vector<euler::Cell> old_, now_;             // at the start of a step, and after the last stage
  std::vector<std::vector<euler::Cell>> borders_;  // for each neighbour
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) { return apps::drive_mpi_steps<Aero>(argc, argv, apps::euler::problem); }
