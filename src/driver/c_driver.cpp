/// `tg_drive`: a system written in another language behind the protocol, the flags and the timing of all others.

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "../core/c_run.hpp"
#include "taskgrain/driver.h"
#include "taskgrain/driver.hpp"

namespace {

using namespace taskgrain;

void check(int code) {
  if (code == 2) throw Unsupported(tg_error());
  if (code != 0) throw std::runtime_error(tg_error());
}

/// \returns how many there are, of which `capacity` were written; the negative code of what went wrong
template <typename Ask>
int write(const Ask& ask, int* out, int capacity) {
  int count = 0;
  const int code = guarded([&] {
    const std::vector<int> found = ask();
    std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(std::max(capacity, 0))), out);
    count = static_cast<int>(found.size());
  });
  return code == 0 ? count : -code;
}

class CSystem final : public System {
 public:
  explicit CSystem(const tg_system& system) : system_(system) {}

  std::string name() const override { return system_.name; }
  std::string version() const override { return system_.version; }
  int cores() const override { return system_.cores; }
  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> all;
    for (int worker = 0;; ++worker) {
      int count = system_.binding(system_.self, worker, nullptr, 0);
      if (count < 0) return all;
      std::vector<int>& processors = all.emplace_back(static_cast<std::size_t>(count));
      system_.binding(system_.self, worker, processors.data(), count);
    }
  }
  void prepare(Execution& execution) override {
    run_.emplace(execution);
    check(system_.prepare(system_.self, &*run_));
  }
  void execute(Execution&) override { check(system_.execute(system_.self, &*run_)); }

 private:
  const tg_system system_;
  std::optional<tg_run> run_;
};

}  // namespace

extern "C" {

int tg_drive(int argc, char** argv, const tg_system* system) {
  return drive(argc, argv, [&] { return std::make_unique<CSystem>(*system); }, {system->compiler, system->flags});
}

int tg_processors(int* processors, int capacity) { return write(cores, processors, capacity); }
int tg_pin_this_thread(int processor) {
  return guarded([&] { pin_this_thread(processor); });
}
int tg_binding_of_this_thread(int* processors, int capacity) {
  return write(binding_of_this_thread, processors, capacity);
}

}  // extern "C"
