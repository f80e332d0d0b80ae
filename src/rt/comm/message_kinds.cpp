#include "message_kinds.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>

namespace taskgrain::rt::detail {

namespace {

/// FNV-1a, because std::hash may differ between ranks that other compilers have built.
std::uint32_t hash_of(std::string_view text) noexcept {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x01000193u;
  return hash;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                        std::free);
  return status == 0 ? readable.get() : name;
}

}  // namespace

std::string MessageKinds::text(const MessageKind& kind) {
  return kind.name + " " + std::to_string(kind.number) + " " + demangled(kind.signature);
}

std::string MessageKinds::readable(const std::string& call) {
  const std::size_t of = call.find(" of ");
  return of == std::string::npos ? call : call.substr(0, of + 4) + demangled(call.substr(of + 4));
}

const DeclaredKind& MessageKinds::add(MessageKind&& kind) {
  kind.number = static_cast<std::uint32_t>(kinds_.size());
  kind.check = hash_of(text(kind));
  return kinds_.emplace_back(std::move(kind), ranks_);
}

std::string MessageKinds::difference(std::uint32_t number) {
  const auto found = declared_.find(number);
  const DeclaredKind* const kind = find(number);
  if (kind == nullptr || found == declared_.end()) return {};
  const auto theirs = std::move(found->second);
  declared_.erase(found);
  for (const auto& [from, other] : theirs)
    if (other != text(*kind))
      return "rank " + std::to_string(from) + " has made " + other + " where this rank has made " + text(*kind) +
             "; all ranks make the same active messages in the same order";
  return {};
}

std::string MessageKinds::name_by(int from, std::uint32_t number) const {
  const auto declared = declared_.find(number);
  if (declared != declared_.end())
    if (const auto found = declared->second.find(from); found != declared->second.end()) return found->second;
  return std::to_string(number);
}

}  // namespace taskgrain::rt::detail
