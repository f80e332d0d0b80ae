#pragma once

/// What references have in common: they serve `hello`, `peak` and `quit`.

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "../core/request.hpp"
#include "../driver/protocol.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/kernel_entry.hpp"

namespace taskgrain {

struct Peak {
  /// Of each core, in work per second.
  std::vector<double> rates;
  WorkUnit unit;
};
using MeasurePeak = std::function<Peak(const nlohmann::json& request, const KernelSpec&, double seconds)>;

/// Answers requests until the end. What `own` returns `hello` tells of this reference; what it throws is answered as
/// any error. A kernel that no time is given for is measured for `seconds`.
inline void serve_peaks(const std::function<nlohmann::json()>& own, double seconds, const MeasurePeak& measure) {
  using Json = nlohmann::json;
  const auto handle = [&](const Json& request) -> Json {
    const auto& op = request["op"].get_ref<const std::string&>();
    if (op == "hello") {
      Json ready = {{"event", "ready"}, {"protocol", protocol_version}, {"system", "reference"}, {"nodes", 1}};
      ready.update(own());
      ready.update(build_facts());
      return ready;
    }
    if (op == "quit") return nullptr;
    if (op != "peak") throw InvalidSpec("op", op, "hello, peak, quit");
    const KernelSpec spec = kernel_spec(request.value("kernel", Json::object()));
    if (kernel_from_name(spec.name).does_nothing())
      throw InvalidSpec("kernel", spec.name, "a kernel that does something");
    const double asked = request.value("seconds", seconds);
    if (!(asked > 0 && asked <= 60)) throw InvalidSpec("seconds", std::to_string(asked), "more than 0, at most 60");
    const Peak peak = measure(request, spec, asked);
    return {{"event", "peak"},
            {"id", request.value("id", Json(nullptr))},
            {"rates", peak.rates},
            {"work_unit", name(peak.unit)}};
  };
  for (std::string line; std::getline(std::cin, line);) {
    const Json reply = answer_line(line, handle);
    if (reply.is_null()) break;
    print_answer(reply);
  }
}

}  // namespace taskgrain
