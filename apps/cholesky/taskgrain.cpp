/// L of A = L·Lᵀ, block by block, in the place of A: potrf(k) computes L(k, k), trsm(k, i) L(i, k), and gemm(k, i,
/// j) takes L(i, k)·L(j, k)ᵀ from A(i, j). Each runs where what it writes is, block-cyclically.

#include "../matrix/taskgrain.hpp"
#include "../matrix/entries.hpp"
#include "../matrix/program.hpp"
#include "priority.hpp"

namespace {

using namespace apps;

class Cholesky : public TaskgrainRanks {
 public:
  Cholesky(const World& world, const Options& options)
      : TaskgrainRanks(world, options), entries_(positive_definite(options.seed, options.size)),
        tiling_(options.size, options.block, options.rho, options.seed), rho_(options.rho) {
    const int blocks = tiling_.blocks();
    for (int j = 0; j < blocks; ++j)
      for (int i = j; i < blocks; ++i) {
        if (i % grid_.rows == row() || i % grid_.columns == column()) a_.hold(i, j);
        if (mine(i, j)) own_.push_back({i, j});
      }
    const auto worker = [this, blocks](int i, int j) {
      return (i / grid_.rows + j / grid_.columns * (blocks / grid_.rows)) % threads_;
    };

    potrf_
        .run([this](int k) {
          blas::potrf(size(k), a_(k, k), size(k));
          for (int p = 0, below = tiling_.blocks() - 1 - k; p < std::min(grid_.rows, below); ++p)
            diagonal_.send(grid_.rank_of(k + 1 + p, k), k);
        })
        .indegree([](int) { return 1; })
        .worker([worker](int k) { return worker(k, k); })
        .priority([blocks](int k) { return priority(blocks, k, k, k); });
    trsm_
        .run([this](const Key2& ki) {
          const auto [k, i] = ki;
          blas::trsm(size(i), size(k), a_(k, k), size(k), a_(i, k), size(i));
          for (const int rank : readers(k, i)) panel_.send(rank, k, i);
        })
        .indegree([](const Key2& ki) { return ki[0] == 0 ? 1 : 2; })
        .worker([worker](const Key2& ki) { return worker(ki[1], ki[0]); })
        .priority([blocks](const Key2& ki) { return priority(blocks, ki[0], ki[1], ki[0]); });
    gemm_
        .run([this](const Key3& kij) {
          const auto [k, i, j] = kij;
          if (i == j)
            blas::syrk(size(i), size(k), a_(i, k), size(i), a_(i, i), size(i));
          else
            blas::gemm_transposed(size(i), size(j), size(k), a_(i, k), size(i), a_(j, k), size(j), a_(i, j), size(i));
          if (k + 1 < j)
            gemm_.fulfill({k + 1, i, j});
          else if (i == j)
            potrf_.fulfill(j);
          else
            trsm_.fulfill({j, i});
        })
        .indegree([](const Key3& kij) { return (kij[1] == kij[2] ? 1 : 2) + (kij[0] == 0 ? 0 : 1); })
        .worker([worker](const Key3& kij) { return worker(kij[1], kij[2]); })
        .priority([blocks](const Key3& kij) { return priority(blocks, kij[0], kij[1], kij[2]); });
  }

  void prepare() {
    for (const auto [i, j] : own_) entries_.fill(a_.piece(i, j));
  }
  std::int64_t run() {
    if (mine(0, 0)) potrf_.fulfill(0);
    runtime_.wait();
    std::int64_t tasks = 0;
    for (const auto [i, j] : own_) tasks += j + 1;
    return tasks;
  }
  std::vector<Piece> result() const {
    std::vector<Piece> pieces;
    for (const auto [i, j] : own_) pieces.push_back(a_.piece(i, j));
    return pieces;
  }
  void describe(nlohmann::ordered_json& line) const {
    TaskgrainRanks::describe(line);
    line["rho"] = rho_;
  }

 private:
  int size(int i) const { return tiling_.extent(i); }
  /// The ranks with gemm(k, i, j) or gemm(k, j, i) for any j: once each.
  std::vector<int> readers(int k, int i) const {
    std::vector<int> ranks;
    const int blocks = tiling_.blocks();
    for (int j = k + 1; j <= std::min(i, k + grid_.columns); ++j) ranks.push_back(grid_.rank_of(i, j));
    for (int j = i; j < std::min(blocks, i + grid_.rows); ++j) ranks.push_back(grid_.rank_of(j, i));
    std::ranges::sort(ranks);
    const auto same = std::ranges::unique(ranks);
    ranks.erase(same.begin(), same.end());
    return ranks;
  }

  const Entries entries_;
  const Tiling tiling_;
  const double rho_;
  Blocks a_{tiling_};      // the lower triangle: what this rank owns, and room for what it receives
  std::vector<Key2> own_;  // blocks

  BlockMessage<int> diagonal_{communicator_, large_, [this](int k) { return a_.elements(k, k); },
                              [this](int k) {
                                for (int i = k + 1; i < tiling_.blocks(); ++i)
                                  if (mine(i, k)) trsm_.fulfill({k, i});
                              },
                              "block of the diagonal"};
  BlockMessage<int, int> panel_{communicator_, large_, [this](int k, int i) { return a_.elements(i, k); },
                                [this](int k, int i) {
                                  for (int j = k + 1; j <= i; ++j)
                                    if (mine(i, j)) gemm_.fulfill({k, i, j});
                                  for (int j = i + 1; j < tiling_.blocks(); ++j)
                                    if (mine(j, i)) gemm_.fulfill({k, j, i});
                                },
                                "block below the diagonal"};
  rt::Taskflow<int> potrf_{runtime_, "potrf"};
  rt::Taskflow<Key2> trsm_{runtime_, "trsm"};
  rt::Taskflow<Key3> gemm_{runtime_, "gemm"};
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Cholesky>(argc, argv, apps::factorisation, "taskgrain", {.rho = true, .messages = true},
                               MPI_THREAD_FUNNELED);
}
