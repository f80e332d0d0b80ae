/// C = A·B. Block (i, j) of each matrix belongs to one rank, block-cyclically. The owner of a block of A sends it
/// along its row of the grid, that of a block of B along its column. gemm(i, k, j) adds A(i, k)·B(k, j) to C(i, j),
/// where C(i, j) is, for one k after another.

#include "../matrix/entries.hpp"
#include "../matrix/program.hpp"
#include "../matrix/taskgrain.hpp"

namespace {

using namespace apps;

class Gemm : public TaskgrainRanks {
 public:
  Gemm(const World& world, const Options& options)
      : TaskgrainRanks(world, options), seed_(options.seed), tiling_(options.size, options.block) {
    const int blocks = tiling_.blocks();
    for (int i = 0; i < blocks; ++i)
      for (int j = 0; j < blocks; ++j) {
        if (i % grid_.rows == row()) a_.hold(i, j);
        if (j % grid_.columns == column()) b_.hold(i, j);
        if (mine(i, j)) c_.hold(i, j), ++own_;
      }

    const auto once = [](const Key2&) { return 1; };
    send_a_.indegree(once).run([this](const Key2& ik) {
      for (int q = 0; q < grid_.columns; ++q) a_block_.send(grid_.rank_of(ik[0], q), ik[0], ik[1]);
    });
    send_b_.indegree(once).run([this](const Key2& kj) {
      for (int p = 0; p < grid_.rows; ++p) b_block_.send(grid_.rank_of(p, kj[1]), kj[0], kj[1]);
    });
    gemm_
        .run([this](const Key3& ikj) {
          const auto [i, k, j] = ikj;
          blas::gemm(tiling_.extent(i), tiling_.extent(j), tiling_.extent(k), a_(i, k), b_(k, j), c_(i, j));
          if (k + 1 < tiling_.blocks()) gemm_.fulfill({i, k + 1, j});
        })
        .indegree([](const Key3& ikj) { return ikj[1] == 0 ? 2 : 3; })
        .worker([this, blocks](const Key3& ikj) {
          return (ikj[0] / grid_.rows + ikj[2] / grid_.columns * (blocks / grid_.rows)) % threads_;
        });
  }

  void prepare() {
    for (int i = 0; i < tiling_.blocks(); ++i)
      for (int j = 0; j < tiling_.blocks(); ++j)
        if (mine(i, j)) {
          left_factor(seed_).fill(a_.piece(i, j));
          right_factor(seed_).fill(b_.piece(i, j));
          std::ranges::fill(c_.elements(i, j), 0.0);
        }
  }
  /// A worker runs its newest tasks first, so the first k comes last.
  std::int64_t run() {
    for (int k = tiling_.blocks(); k-- > 0;)
      for (int i = 0; i < tiling_.blocks(); ++i) {
        if (mine(i, k)) send_a_.fulfill({i, k});
        if (mine(k, i)) send_b_.fulfill({k, i});
      }
    runtime_.wait();
    return own_ * (tiling_.blocks() + 2);
  }
  std::vector<Piece> result() const {
    std::vector<Piece> pieces;
    for (int i = 0; i < tiling_.blocks(); ++i)
      for (int j = 0; j < tiling_.blocks(); ++j)
        if (mine(i, j)) pieces.push_back(c_.piece(i, j));
    return pieces;
  }

 private:
  const std::uint64_t seed_;
  const Tiling tiling_;
  Blocks a_{tiling_}, b_{tiling_}, c_{tiling_};  // A in the rows, B in the columns of this rank
  std::int64_t own_ = 0;                         // blocks of each matrix

  BlockMessage<int, int> a_block_{communicator_, large_, [this](int i, int k) { return a_.elements(i, k); },
                                  [this](int i, int k) {
                                    for (int j = column(); j < tiling_.blocks(); j += grid_.columns)
                                      gemm_.fulfill({i, k, j});
                                  },
                                  "block of A"};
  BlockMessage<int, int> b_block_{communicator_, large_, [this](int k, int j) { return b_.elements(k, j); },
                                  [this](int k, int j) {
                                    for (int i = row(); i < tiling_.blocks(); i += grid_.rows) gemm_.fulfill({i, k, j});
                                  },
                                  "block of B"};
  rt::Taskflow<Key2> send_a_{runtime_, "send_a"}, send_b_{runtime_, "send_b"};
  rt::Taskflow<Key3> gemm_{runtime_, "gemm"};
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Gemm>(argc, argv, apps::product, "taskgrain_2d", {.messages = true}, MPI_THREAD_FUNNELED);
}
