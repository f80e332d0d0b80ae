#include "sequence/traced_bodies.hpp"

namespace taskgrain::rt::detail {

std::vector<Traced>& TracedBodies::of_trace(std::uint64_t id) {
  auto found = traces_.find(id);
  if (found == traces_.end()) {
    if (traces_.size() >= most_traces_) {
      auto oldest = traces_.end();
      for (auto one = traces_.begin(); one != traces_.end(); ++one) {
        const auto runs = [](const Traced& shape) { return shape.compiled.use_count() > 1; };
        if (!across_ranks_ && std::ranges::any_of(one->second.shapes, runs)) continue;
        if (oldest == traces_.end() || one->second.call < oldest->second.call) oldest = one;
      }
      if (across_ranks_ &&
          std::ranges::any_of(oldest->second.shapes, [](const Traced& shape) { return !!shape.compiled; }))
        window_.wait_for_tasks();
      if (oldest != traces_.end()) traces_.erase(oldest);
    }
    found = traces_.try_emplace(id).first;
  }
  found->second.call = ++calls_;
  return found->second.shapes;
}

Traced& TracedBodies::like(std::vector<Traced>& shapes, const Body& body) {
  constexpr std::size_t most_shapes = 8;
  const auto found =
      std::ranges::find_if(shapes, [&](const Traced& one) { return one.shape.alike(body, !across_ranks_); });
  if (found != shapes.end()) {
    std::rotate(found, found + 1, shapes.end());
    return shapes.back();
  }
  if (shapes.size() >= most_shapes && across_ranks_) {
    window_.wait_for_tasks();
    shapes.erase(shapes.begin());
  } else if (shapes.size() >= most_shapes) {
    const auto ended = std::ranges::find_if(shapes, [](const Traced& one) { return one.compiled.use_count() <= 1; });
    if (ended != shapes.end()) shapes.erase(ended);
  }
  return shapes.emplace_back(Traced{body.shape(), nullptr});
}

}  // namespace taskgrain::rt::detail
