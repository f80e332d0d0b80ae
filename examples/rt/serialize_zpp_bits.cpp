/// Arguments that travel by zpp_bits: one Serializer for all types of a program's own namespace.

#include <zpp_bits.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

struct Spectrum {
  using serialize = zpp::bits::members<2>;

  std::string element;
  std::map<int, double> lines;  // intensities by wavelength, in nm
};

template <typename T>
concept KnownToZppBits = requires { typename T::serialize; };

template <KnownToZppBits T>
struct taskgrain::rt::Serializer<T> {
  static void write(const T& value, Writer& to) {
    std::vector<std::byte> bytes;
    zpp::bits::out{bytes}(value).or_throw();
    Serializer<view<const std::byte>>::write(std::span<const std::byte>(bytes), to);
  }
  static T read(Reader& from) {
    const view<const std::byte> bytes = Serializer<view<const std::byte>>::read(from);
    T value;
    zpp::bits::in{bytes}(value).or_throw();
    return value;
  }
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
