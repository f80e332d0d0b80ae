#include "column.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <span>

#include "taskgrain/error.hpp"

using namespace taskgrain;

Shared shared;

namespace {

template <typename Body>
void for_each_point(const Points& points, Body body) {
  for (const Interval interval : points)
    for (std::int64_t point = interval.first; point <= interval.last; ++point) body(point);
}

}  // namespace

Column::Column(std::size_t graph)
    : graph_(&shared.run->graphs()[graph]), classes_(&shared.classes[graph]),
      context_(shared.workers[static_cast<std::size_t>(CkMyRank())]) {
  for (const std::int64_t step : classes_->representatives()) {
    Links& links = links_.emplace_back();
    links.task = graph_->contains(step, thisIndex);
    if (links.task) for_each_point(graph_->deps(step, thisIndex), [&](std::int64_t) { ++links.inputs; });
    if (!graph_->contains(step - 1, thisIndex)) continue;
    for_each_point(graph_->reverse_deps(step - 1, thisIndex), [&](std::int64_t reader) {
      std::size_t place = 0;
      for_each_point(graph_->deps(step, reader), [&](std::int64_t dep) { place += dep < thisIndex ? 1 : 0; });
      links.readers.push_back({static_cast<int>(reader), place});
    });
  }
  first_ = step_ = next_task(0);
  for (int k = 0; k < 2; ++k) outputs_.push_back(new_output());
  contribute();
}

std::int64_t Column::next_task(std::int64_t step) const noexcept {
  while (step < graph_->steps() && !links(step).task) ++step;
  return step;
}

void Column::start() {
  if (step_ == graph_->steps()) {
    contribute();
  } else if (links(step_).inputs == 0) {  // else its inputs, which may be here before this message, start it
    go_on();
  }
}

void Column::receive(Input* message) {
  const bool complete = take(message->step, message->place, message->output);
  delete message;
  if (complete) go_on();
}

void Column::receive_copy(Copy* message) {
  const bool complete = take(message->step, message->place, new (message->room) Output);
  gathered(message->step).copies.emplace_back(message);
  if (complete) go_on();
}

bool Column::take(std::int64_t step, std::size_t place, Output* output) {
  while (step - step_ >= static_cast<std::int64_t>(ahead_.size())) look_further();
  Gathered& inputs = gathered(step);
  if (inputs.arrived++ == 0) {
    inputs.bytes.resize(links(step).inputs);
    inputs.outputs.resize(links(step).inputs);
  }
  inputs.bytes[place] = output->bytes();
  inputs.outputs[place] = output;
  return step == step_ && inputs.arrived == inputs.bytes.size();
}

void Column::look_further() {
  std::vector<Gathered> before(2 * ahead_.size());
  before.swap(ahead_);
  for (std::size_t k = 0; k < before.size(); ++k) {
    const std::int64_t step = step_ + static_cast<std::int64_t>(k);
    gathered(step) = std::move(before[static_cast<std::size_t>(step) & (before.size() - 1)]);
  }
}

void Column::go_on() {
  for (;;) {
    execute_task();
    step_ = next_task(step_ + 1);
    if (step_ == graph_->steps()) {
      step_ = first_;
      contribute();
      return;
    }
    if (gathered(step_).arrived < links(step_).inputs) return;
    // Nobody holds this column back. Where its readers lag behind, it lets them have a turn.
    if (outputs_[oldest_]->readers.load(std::memory_order_acquire) > 0) {
      thisProxy[thisIndex].go_on();
      return;
    }
  }
}

void Column::execute_task() {
  if (outputs_[oldest_]->readers.load(std::memory_order_acquire) > 0)
    outputs_.insert(outputs_.begin() + static_cast<std::ptrdiff_t>(oldest_), new_output());
  Output* output = outputs_[oldest_].get();
  oldest_ = oldest_ + 1 < outputs_.size() ? oldest_ + 1 : 0;

  Gathered& inputs = gathered(step_);
  shared.run->execute_point(*context_, graph_->index(), step_, thisIndex, output->bytes(),
                            std::span(inputs.bytes).first(inputs.arrived));
  for (std::size_t k = 0; k < inputs.arrived; ++k) inputs.outputs[k]->readers.fetch_sub(1, std::memory_order_release);
  inputs.copies.clear();
  inputs.arrived = 0;
  if (step_ + 1 < graph_->steps()) send(output);
}

void Column::send(Output* output) {
  const std::vector<Reader>& readers = links(step_ + 1).readers;
  output->readers.store(readers.size(), std::memory_order_relaxed);
  for (const Reader& reader : readers) {
    // What is on this PE needs no message to be told. To execute it at once would be a recursion without end.
    if (Column* local = thisProxy[reader.column].ckLocal()) {
      if (local->take(step_ + 1, reader.place, output)) thisProxy[reader.column].go_on();
    } else if (CkNumNodes() == 1) {
      thisProxy[reader.column].receive(new Input(step_ + 1, reader.place, output));
    } else {
      auto* copy = new (static_cast<int>(sizeof(Output) + graph_->output_bytes())) Copy(step_ + 1, reader.place);
      std::memcpy(copy->room + sizeof(Output), output->bytes(), graph_->output_bytes());
      output->readers.fetch_sub(1, std::memory_order_relaxed);
      thisProxy[reader.column].receive_copy(copy);
    }
  }
}

Column::OutputPtr Column::new_output() const {
  const std::size_t bytes = sizeof(Output) + graph_->output_bytes();
  auto* output = new (::operator new(bytes, std::align_val_t{64})) Output;
  std::fill_n(output->bytes(), graph_->output_bytes(),
              std::byte{0xff});  // no task's output; and the memory is on the PE's node
  return OutputPtr(output);
}

void Column::Free::operator()(Output* output) const noexcept { ::operator delete(output, std::align_val_t{64}); }

void Columns::create(std::span<const Graph> graphs, CkCallbackFn reduced) {
  for (CProxy_Column& columns : arrays_) CProxy_CkArray(columns.ckGetArrayID()).ckDestroy();
  arrays_.clear();
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    arrays_.push_back(CProxy_Column::ckNew(g, static_cast<int>(graphs[g].width())));
    CkCallback done(reduced, nullptr);
    arrays_.back().ckSetReductionClient(&done);
  }
}

void Columns::start() {
  for (CProxy_Column& columns : arrays_) columns.start();
}

void Columns::check(const Graph& graph, std::int64_t columns) {
  if (graph.width() > INT_MAX) throw Unsupported("charmpp: a width above 2^31 - 1, the most that an array counts");
  const auto number = static_cast<std::size_t>(std::max<std::int64_t>(columns, 1));
  if (graph.output_bytes() > SIZE_MAX / 2 / number) throw std::bad_alloc();
  ::operator delete(::operator new(2 * number * graph.output_bytes()));
}

std::string charm_version() {
  return std::to_string(CHARM_VERSION / 10000) + "." + std::to_string(CHARM_VERSION / 100 % 100) + "." +
         std::to_string(CHARM_VERSION % 100);
}

#include "column.def.h"
