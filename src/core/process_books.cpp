#include "process_books.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;

template <typename T>
Json binary(std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::uint8_t> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Json::binary(std::move(bytes));
}

template <typename T>
std::vector<T> values(const Json& json) {
  const Json::binary_t& bytes = json.get_binary();
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

std::string failure_of(const Execution& run) {
  try {
    if (const auto failure = run.failure()) std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return *error.what() != 0 ? error.what() : "a kernel failed";
  }
  return "";
}

}  // namespace

ProcessBooks ProcessBooks::of(const Execution& run) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  ProcessBooks books{run.accounts(), failure_of(run), run.violation(), {}, std::int64_t{1024} * usage.ru_maxrss};
  if (run.validation() != Validation::off)
    for (std::size_t g = 0; g < run.graphs().size(); ++g) books.counts.push_back(run.ledger(g).counts());
  return books;
}

std::vector<std::uint8_t> ProcessBooks::bytes() const {
  Json json{{"accounts", binary(std::span(&accounts, 1))},
            {"failure", failure},
            {"violation", binary(std::span(violation ? &*violation : nullptr, violation ? 1 : 0))},
            {"counts", Json::array()},
            {"peak_rss_bytes", peak_rss_bytes}};
  for (const auto& of_graph : counts) json["counts"].push_back(binary(std::span(of_graph)));
  return Json::to_cbor(json);
}

ProcessBooks ProcessBooks::from(std::span<const std::uint8_t> bytes) {
  const Json json = Json::from_cbor(bytes.begin(), bytes.end());
  ProcessBooks books;
  books.accounts = values<Accounts>(json.at("accounts")).at(0);
  json.at("failure").get_to(books.failure);
  if (const auto one = values<Violation>(json.at("violation")); !one.empty()) books.violation = one.front();
  for (const Json& of_graph : json.at("counts")) books.counts.push_back(values<std::uint32_t>(of_graph));
  json.at("peak_rss_bytes").get_to(books.peak_rss_bytes);
  return books;
}

void ProcessBooks::add(const ProcessBooks& other) {
  const auto same_size = [](const auto& one, const auto& two) { return one.size() == two.size(); };
  if (!std::ranges::equal(counts, other.counts, same_size))
    throw InvalidSpec("books", "counts of other sizes", "the books of the same request");
  accounts.executed += other.accounts.executed;
  accounts.dependencies += other.accounts.dependencies;
  accounts.flops += other.accounts.flops;
  accounts.bytes += other.accounts.bytes;
  accounts.work += other.accounts.work;
  if (failure.empty()) failure = other.failure;
  keep_earlier(violation, other.violation);
  peak_rss_bytes = std::max(peak_rss_bytes, other.peak_rss_bytes);
  for (std::size_t g = 0; g < counts.size(); ++g)
    std::ranges::transform(counts[g], other.counts[g], counts[g].begin(), std::plus{});
}

std::optional<Violation> ProcessBooks::verify(const Execution& run) const {
  if (!failure.empty()) throw std::runtime_error(failure);
  if (violation) return violation;
  for (std::size_t g = 0; g < counts.size(); ++g)
    if (const auto wrong = run.ledger(g).compare(run.graphs()[g], counts[g])) return wrong;
  return run.verify_number(accounts.executed);
}

}  // namespace taskgrain
