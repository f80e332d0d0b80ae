/// C = A·B on a grid of rows, columns and layers (DNS, after Dekel, Nassimi, Sahni 1981), cut into tiles. A and B
/// are on layer 0, as in two dimensions. Layer l multiplies those A(i, k)·B(k, j) with k mod layers = l: the owner
/// of A(i, k) *lifts* it to that layer, and from there it is *spread* along the row; B(k, j) along the column. In the
/// end layer 0 *adds* what the others have for C(i, j).

#include <algorithm>
#include <functional>

#include "../matrix/entries.hpp"
#include "../matrix/program.hpp"
#include "../matrix/taskgrain.hpp"

namespace {

using namespace apps;

class Gemm : public TaskgrainRanks {
 public:
  Gemm(const World& world, const Options& options)
      : TaskgrainRanks(world, options), seed_(options.seed), tiling_(options.size, block_of(options)) {
    const int blocks = tiling_.blocks();
    layers_ = std::min(grid_.layers, blocks);
    sums_.reserve(static_cast<std::size_t>(layers_));
    for (int layer = 0; layer < layers_; ++layer) sums_.emplace_back(tiling_);
    for (int i = 0; i < blocks; ++i)
      for (int j = 0; j < blocks; ++j) {
        if (mine(i, j) || (i % grid_.rows == row() && j % grid_.layers == layer())) a_.hold(i, j);
        if (mine(i, j) || (j % grid_.columns == column() && i % grid_.layers == layer())) b_.hold(i, j);
        if (layer() < layers_ && mine(i, j, layer())) {
          for (int from = layer(); from < (layer() == 0 ? layers_ : layer() + 1); ++from)
            sums_[static_cast<std::size_t>(from)].hold(i, j);
          own_.push_back({i, j});
        }
      }

    const auto once = [](const Key2&) { return 1; };
    for (auto* const flow : {&lift_a_, &lift_b_, &spread_a_, &spread_b_}) flow->indegree(once);
    lift_a_.run([this](const Key2& ik) { a_lifted_.send(grid_.rank_of(ik[0], ik[1], ik[1]), ik[0], ik[1]); });
    lift_b_.run([this](const Key2& kj) { b_lifted_.send(grid_.rank_of(kj[0], kj[1], kj[0]), kj[0], kj[1]); });
    spread_a_.run([this](const Key2& ik) {
      for (int q = 0; q < grid_.columns; ++q) a_spread_.send(grid_.rank_of(ik[0], q, ik[1]), ik[0], ik[1]);
    });
    spread_b_.run([this](const Key2& kj) {
      for (int p = 0; p < grid_.rows; ++p) b_spread_.send(grid_.rank_of(p, kj[1], kj[0]), kj[0], kj[1]);
    });
    const auto worker = [this, blocks](int i, int j) {
      return (i / grid_.rows + j / grid_.columns * (blocks / grid_.rows)) % threads_;
    };
    gemm_
        .run([this](const Key3& ikj) {
          const auto [i, k, j] = ikj;
          blas::gemm(tiling_.extent(i), tiling_.extent(j), tiling_.extent(k), a_(i, k), b_(k, j), sum(layer())(i, j));
          if (k + grid_.layers < tiling_.blocks())
            gemm_.fulfill({i, k + grid_.layers, j});
          else if (layer() > 0)
            partial_sum_.send(grid_.rank_of(i, j), layer(), i, j);
          else if (layers_ > 1)
            add_.fulfill({1, i, j});
        })
        .indegree([this](const Key3& ikj) { return ikj[1] < grid_.layers ? 2 : 3; })
        .worker([worker](const Key3& ikj) { return worker(ikj[0], ikj[2]); });
    add_.run([this](const Key3& lij) {
          const auto [l, i, j] = lij;
          const std::span<const double> part = sum(l).elements(i, j);
          std::ranges::transform(part, sum(0).elements(i, j), sum(0).elements(i, j).begin(), std::plus());
          if (l + 1 < layers_) add_.fulfill({l + 1, i, j});
        })
        .indegree([](const Key3&) { return 2; })
        .worker([worker](const Key3& lij) { return worker(lij[1], lij[2]); });
  }

  void prepare() {
    for (const auto [i, j] : own_) {
      std::ranges::fill(sum(layer()).elements(i, j), 0.0);
      if (layer() > 0) continue;
      left_factor(seed_).fill(a_.piece(i, j));
      right_factor(seed_).fill(b_.piece(i, j));
    }
  }
  /// A worker runs its newest tasks first, so the first k comes last.
  std::int64_t run() {
    for (int k = tiling_.blocks(); k-- > 0;)
      for (int i = 0; i < tiling_.blocks(); ++i) {
        if (mine(i, k)) lift_a_.fulfill({i, k});
        if (mine(k, i)) lift_b_.fulfill({k, i});
      }
    runtime_.wait();
    std::int64_t tasks = 0;
    for (int k = 0; k < tiling_.blocks(); ++k) {
      if (k % grid_.layers == layer()) tasks += static_cast<std::int64_t>(own_.size());  // gemm
      for (int i = 0; i < tiling_.blocks(); ++i)
        tasks += 2 * mine(i, k) + mine(i, k, k) + mine(k, i, k);  // lift, spread
    }
    return tasks + (layer() == 0 ? static_cast<std::int64_t>(own_.size()) * (layers_ - 1) : 0);  // add
  }
  std::vector<Piece> result() const {
    std::vector<Piece> pieces;
    if (layer() > 0) return pieces;
    for (const auto [i, j] : own_) pieces.push_back(sums_.front().piece(i, j));
    return pieces;
  }
  void describe(nlohmann::ordered_json& line) const {
    TaskgrainRanks::describe(line);
    line["tile"] = tiling_.extent(0);
  }

 private:
  static std::int64_t block_of(const Options& options) {
    const std::int64_t parts = std::max({options.grid.rows, options.grid.columns, options.grid.layers});
    return options.tiles == "yes" ? options.block : (options.size + parts - 1) / parts;
  }
  Blocks& sum(int layer) { return sums_[static_cast<std::size_t>(layer)]; }

  const std::uint64_t seed_;
  const Tiling tiling_;
  int layers_ = 1;  // those that have something to multiply
  Blocks a_{tiling_}, b_{tiling_};
  std::vector<Blocks> sums_;  // of each layer; one has only its own, but layer 0 receives all
  std::vector<Key2> own_;     // blocks of C

  using Message = BlockMessage<int, int>;
  const std::function<std::span<double>(int, int)> in_a_ = [this](int i, int k) { return a_.elements(i, k); };
  const std::function<std::span<double>(int, int)> in_b_ = [this](int k, int j) { return b_.elements(k, j); };
  Message a_lifted_{communicator_, large_, in_a_, [this](int i, int k) { spread_a_.fulfill({i, k}); }, "A, lifted"};
  Message b_lifted_{communicator_, large_, in_b_, [this](int k, int j) { spread_b_.fulfill({k, j}); }, "B, lifted"};
  Message a_spread_{communicator_, large_, in_a_,
                    [this](int i, int k) {
                      for (int j = column(); j < tiling_.blocks(); j += grid_.columns) gemm_.fulfill({i, k, j});
                    },
                    "A, spread"};
  Message b_spread_{communicator_, large_, in_b_,
                    [this](int k, int j) {
                      for (int i = row(); i < tiling_.blocks(); i += grid_.rows) gemm_.fulfill({i, k, j});
                    },
                    "B, spread"};
  BlockMessage<int, int, int> partial_sum_{communicator_, large_,
                                           [this](int l, int i, int j) { return sum(l).elements(i, j); },
                                           [this](int l, int i, int j) { add_.fulfill({l, i, j}); }, "partial sum"};
  rt::Taskflow<Key2> lift_a_{runtime_, "lift_a"}, lift_b_{runtime_, "lift_b"};
  rt::Taskflow<Key2> spread_a_{runtime_, "spread_a"}, spread_b_{runtime_, "spread_b"};
  rt::Taskflow<Key3> gemm_{runtime_, "gemm"}, add_{runtime_, "add"};
};

}  // namespace

int main(int argc, char** argv) {
  return apps::drive<Gemm>(argc, argv, apps::product, "taskgrain_3d", {.messages = true, .tiles = true, .layers = true},
                           MPI_THREAD_FUNNELED);
}
