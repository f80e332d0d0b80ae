/// A type of your own as the argument of an active message. Say how it is written and read, in the same order.

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

struct Spectrum {
  std::string element;
  std::map<int, double> lines;  // intensities by wavelength, in nm
};

template <>
struct taskgrain::rt::Serializer<Spectrum> {
  using Lines = std::vector<std::pair<int, double>>;

  static void write(const Spectrum& value, Writer& to) {
    Serializer<std::string>::write(value.element, to);
    Serializer<Lines>::write(Lines(value.lines.begin(), value.lines.end()), to);
  }
  static Spectrum read(Reader& from) {
    Spectrum value{.element = Serializer<std::string>::read(from), .lines = {}};
    const Lines lines = Serializer<Lines>::read(from);
    value.lines.insert(lines.begin(), lines.end());
    return value;
  }
};

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  const auto show = comm.active_message([](const Spectrum& spectrum) {
    std::printf("%s:", spectrum.element.c_str());
    for (const auto& [wavelength, intensity] : spectrum.lines) std::printf(" %d nm (%g)", wavelength, intensity);
    std::puts("");
  });
  if (comm.rank() == comm.ranks() - 1) show.send(0, {"hydrogen", {{656, 1}, {486, 0.36}, {434, 0.18}}});
  runtime.wait();
}
