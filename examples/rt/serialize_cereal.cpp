/// Arguments that travel by cereal: one Serializer for all types that it knows by a member `serialize`.

#include <cereal/archives/binary.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

template <typename T>
concept KnownToCereal = requires(T& value, cereal::BinaryOutputArchive& archive) { value.serialize(archive); };

template <KnownToCereal T>
struct taskgrain::rt::Serializer<T> {
  static void write(const T& value, Writer& to) {
    std::ostringstream bytes;
    cereal::BinaryOutputArchive{bytes}(value);
    Serializer<std::string>::write(bytes.str(), to);
  }
  static T read(Reader& from) {
    std::istringstream bytes(Serializer<std::string>::read(from));
    T value;
    cereal::BinaryInputArchive{bytes}(value);
    return value;
  }
};

struct Spectrum {
  std::string element;
  std::map<int, double> lines;  // intensities by wavelength, in nm

  void serialize(auto& archive) { archive(element, lines); }
};

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  const auto show = comm.active_message([](const Spectrum& spectrum) {
    std::printf("%s: %zu lines\n", spectrum.element.c_str(), spectrum.lines.size());
  });
  if (comm.rank() == comm.ranks() - 1) show.send(0, {"hydrogen", {{656, 1}, {486, 0.36}, {434, 0.18}}});
  runtime.wait();
}
