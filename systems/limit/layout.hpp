#pragma once

/// Which core runs a column and when, who reads it, and where its outputs lie.
///
/// A core's columns have an order, the same in every step: first those that other cores read, so that what they hand
/// over is on its way while the rest of the step is computed. Columns with the same readers share chunks of one cache
/// line, because a line costs the same to fetch however full it is. A reader looks at no part of a chunk before all of
/// it is written, so nobody writes to a line that another core fetches at that time. Cores lie apart, because they
/// also fetch what is next to what they use.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "taskgrain/graph.hpp"

class Layout {
 public:
  using Core = std::int64_t;

  /// \param depth  steps of outputs that are kept; a power of two
  /// \param steps  of each class of steps, one
  Layout(const taskgrain::Graph& graph, Core cores, std::size_t depth, const std::vector<std::int64_t>& steps)
      : graph_(graph), cores_(cores), depth_(depth), columns_(static_cast<std::size_t>(graph.width())) {
    for (Core core = 0; core < cores; ++core)
      for (std::int64_t j = first(core); j < first(core + 1); ++j) column(j).owner = core;
    for (const std::int64_t step : steps) note_readers(step);
    for (Core core = 0; core < cores; ++core) arrange(core);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(pair, bytes_)));
    if (!memory_) throw std::bad_alloc();
    std::fill_n(memory_.get(), bytes_, std::byte{0xff});  // no task's output: what runs early is caught
  }

  /// Bytes of an output and what lies between it and the next.
  static std::size_t stride(const taskgrain::Graph& graph) {
    const std::size_t unit = graph.output_bytes() <= line / 2 ? 16 : line;
    return (graph.output_bytes() + unit - 1) / unit * unit;
  }

  /// The columns of a core, in the order of its program.
  const std::vector<std::int64_t>& order(Core core) const { return orders_[static_cast<std::size_t>(core)]; }
  Core owner(std::int64_t j) const { return column(j).owner; }
  /// The place of a column in its core's order, from 0.
  std::int64_t place(std::int64_t j) const { return column(j).place; }
  /// The place of the last column of its chunk. \pre other cores read it
  std::int64_t chunk_end(std::int64_t j) const { return column(j).chunk_end; }
  /// The columns of other cores that read it in any step.
  const std::set<std::int64_t>& readers(std::int64_t j) const { return column(j).readers; }
  std::byte* output(std::int64_t step, std::int64_t j) const {
    const Column& one = column(j);
    const std::size_t row = rows_[static_cast<std::size_t>(one.owner)];
    return memory_.get() + one.offset + (static_cast<std::size_t>(step) & (depth_ - 1)) * row;
  }

 private:
  static constexpr std::size_t line = 64, pair = 2 * line;  // processors fetch lines in pairs
  // Between the outputs of two cores: a core that walks through its own fetches what lies up to a stride beyond, too.
  static constexpr std::size_t apart = 2048 + pair;

  struct Column {
    Core owner = 0;
    std::int64_t place = 0, chunk_end = 0;
    std::size_t offset = 0;  // of its output in step 0
    std::set<std::int64_t> readers;
    std::vector<Core> reading_cores;
  };
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  Column& column(std::int64_t j) { return columns_[static_cast<std::size_t>(j)]; }
  const Column& column(std::int64_t j) const { return columns_[static_cast<std::size_t>(j)]; }
  std::int64_t first(Core core) const { return graph_.width() * core / cores_; }

  void note_readers(std::int64_t step) {
    const taskgrain::Interval points = graph_.points(step);
    for (std::int64_t i = points.first; i <= points.last; ++i)
      for (const auto interval : graph_.deps(step, i))
        for (std::int64_t j = interval.first; j <= interval.last; ++j)
          if (column(j).owner != column(i).owner) column(j).readers.insert(i);
  }

  void arrange(Core core) {
    auto& order = orders_.emplace_back();
    for (std::int64_t j = first(core); j < first(core + 1); ++j) {
      order.push_back(j);
      for (const std::int64_t i : column(j).readers)
        if (auto& cores = column(j).reading_cores; cores.empty() || cores.back() != column(i).owner)
          cores.push_back(column(i).owner);
    }
    const auto readers = [&](std::int64_t j) -> const auto& { return column(j).reading_cores; };
    std::ranges::stable_sort(order, std::ranges::greater(), readers);  // those without readers are last
    const std::size_t size = stride(graph_), in_line = std::max<std::size_t>(1, line / size);
    std::size_t row = 0;
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      while (end < order.size() && end < begin + in_line && readers(order[end]) == readers(order[begin])) ++end;
      for (std::size_t k = begin; k < end; ++k) {
        Column& one = column(order[k]);
        one.place = static_cast<std::int64_t>(k);
        one.chunk_end = static_cast<std::int64_t>(end) - 1;
        one.offset = bytes_ + row + (k - begin) * size;
      }
      const std::size_t bytes = ((end - begin) * size + pair - 1) / pair * pair;
      if (row > SIZE_MAX / 4 / depth_ - bytes) throw std::bad_alloc();
      row += bytes;
    }
    rows_.push_back(row);
    if (bytes_ > SIZE_MAX / 4) throw std::bad_alloc();
    bytes_ += depth_ * row + apart;
  }

  const taskgrain::Graph& graph_;
  Core cores_;
  std::size_t depth_, bytes_ = 0;
  std::vector<std::size_t> rows_;  // by core, bytes of a step's outputs
  std::vector<Column> columns_;
  std::vector<std::vector<std::int64_t>> orders_;
  std::unique_ptr<std::byte, Free> memory_;
};
