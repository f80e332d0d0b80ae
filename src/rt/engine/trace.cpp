#include "taskgrain/rt/detail/trace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

/// Bytes of the UTF-8 character that a text begins with; 0 if it begins with none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  const auto tail = [&](std::size_t k) { return (byte(k) & 0xc0U) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return tail(1) ? 2 : 0;
  if (first == 0xe0 && second < 0xa0) return 0;   // could be shorter
  if (first == 0xed && second >= 0xa0) return 0;  // half of a surrogate pair
  if (first < 0xf0) return tail(1) && tail(2) ? 3 : 0;
  if (first == 0xf0 && second < 0x90) return 0;   // could be shorter
  if (first == 0xf4 && second >= 0x90) return 0;  // beyond Unicode
  return tail(1) && tail(2) && tail(3) ? 4 : 0;
}

/// A JSON string. Bytes that are no UTF-8 are replaced, because keys may be any bytes.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t bytes = character(text);
    if (bytes == 0) {
      out += "\\ufffd";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out + '"';
}

double microseconds(TraceLane::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// The bits of the numbers within a graph or a sequence.
constexpr int bits = 40;

}  // namespace

std::uint64_t Trace::add() {
  const std::lock_guard lock(mutex_);
  return ++last_ << bits;
}

std::uint64_t Trace::add(std::size_t nodes, const std::vector<Edge>& edges) {
  const std::uint64_t first = add();
  Graph graph;
  graph.before.resize(nodes);
  for (const Edge& edge : edges) graph.before[edge.to].push_back(edge);
  const std::lock_guard lock(mutex_);
  graphs_.emplace(first, std::move(graph));
  return first;
}

void Trace::order(std::uint64_t task, const std::vector<std::uint64_t>& before) {
  const std::lock_guard lock(mutex_);
  Given& given = given_[task] = {{}, waits_.size()};
  for (const std::uint64_t one : before) given.before.push_back({one});
}

void Trace::fulfilled(std::uint64_t first_of_flow, const std::string& task, const TracedTask& by) {
  const std::lock_guard lock(mutex_);
  Flow& flow = flows_[first_of_flow];
  const auto [at, is_first] = flow.waiting.try_emplace(task, first_of_flow + flow.given);
  if (is_first) given_[first_of_flow + flow.given++] = {{}, by.number == 0 ? waits_.size() : waits_before(by)};
  if (by.number != 0) given_[at->second].before.push_back(by);
}

TracedTask Trace::begun(std::uint64_t first_of_flow, const std::string& task) {
  const std::lock_guard lock(mutex_);
  Flow& flow = flows_[first_of_flow];
  const auto found = flow.waiting.extract(task);
  return {found ? found.mapped() : first_of_flow + flow.given++};  // not found, it comes after tasks of other ranks
}

void Trace::forget(std::uint64_t first_of_flow) {
  const std::lock_guard lock(mutex_);
  if (const auto flow = flows_.find(first_of_flow); flow != flows_.end()) flow->second.waiting.clear();
}

void Trace::given(std::uint64_t first_of_graph, std::int64_t begin) {
  const std::lock_guard lock(mutex_);
  Graph& graph = graphs_.at(first_of_graph);
  graph.launches[begin] = {std::exchange(graph.next, 0), waits_.size()};
}

void Trace::launched(std::uint64_t task, std::uint64_t first_of_graph) {
  const std::lock_guard lock(mutex_);
  graphs_.at(first_of_graph).next = task;
}

void Trace::waited() {
  const std::lock_guard lock(mutex_);
  waits_.push_back(TraceLane::Clock::now());
}

/// The tasks that a task comes after, within its launch.
std::vector<TracedTask> Trace::before(const TracedTask& task) const {
  if (const auto found = given_.find(task.number); found != given_.end()) return found->second.before;
  const std::uint64_t first = task.number >> bits << bits;
  const auto graph = graphs_.find(first);
  if (graph == graphs_.end()) return {};
  const std::uint64_t nodes = graph->second.before.size(), iteration = (task.number - first) / nodes;
  std::vector<TracedTask> found;
  for (const Edge& edge : graph->second.before[(task.number - first) % nodes])
    if (iteration >= static_cast<std::uint64_t>(task.launch) + edge.carried)
      found.push_back({first + (iteration - edge.carried) * nodes + edge.from, task.launch});
  return found;
}

/// The number of waits that there were until a task was given.
std::size_t Trace::waits_before(const TracedTask& task) const {
  if (const auto found = given_.find(task.number); found != given_.end()) return found->second.waits;
  const auto graph = graphs_.find(task.number >> bits << bits);
  if (graph == graphs_.end()) return 0;
  const auto launch = graph->second.launches.find(task.launch);
  return launch == graph->second.launches.end() ? 0 : launch->second.waits;
}

/// \param places  of the tasks, by their numbers; those that are not in the trace have none
void Trace::write_order(std::ostream& out, const TraceLane::Span& span,
                        const std::unordered_map<std::uint64_t, std::size_t>& places) const {
  const TracedTask& task = span.of;
  out << ",\"args\":{\"task\":" << places.at(task.number);
  if (span.away.count() > 0) out << ",\"away\":" << microseconds(span.away);
  if (task.launch >= 0) out << ",\"graph\":" << (task.number >> bits) << ",\"launch\":" << task.launch;
  out << ",\"waits\":" << waits_before(task) << ",\"after\":[";
  const char* separator = "";
  std::vector<TracedTask> open = before(task);
  std::unordered_set<std::uint64_t> seen;
  while (!open.empty()) {
    const TracedTask one = open.back();
    open.pop_back();
    if (!seen.insert(one.number).second) continue;
    if (const auto place = places.find(one.number); place != places.end()) {
      out << separator << place->second;
      separator = ",";
      continue;
    }
    const std::vector<TracedTask> others = before(one);  // it has no time, and still an order
    open.insert(open.end(), others.begin(), others.end());
  }
  out << "]}";
}

Trace::~Trace() {
  if (kept_ < 0) return;
  ::flock(kept_, LOCK_UN);  // a child of this process may have the file open, too
  ::close(kept_);
}

void Trace::keep(const std::string& file, int rank, int ranks) {
  rank_ = rank, ranks_ = ranks;
  if (const auto is = std::filesystem::status(file); is_regular_file(is) || !exists(is))
    kept_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (kept_ >= 0 && ::flock(kept_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw UsageError("the trace " + file + " is that of another runtime, which has not ended; name another file");
  write(file);
}

void Trace::write(const std::string& file) const {
  std::ofstream out(file);
  out.imbue(std::locale::classic());  // a point in numbers, whatever the locale of the program
  out.precision(15);
  out << "{\"displayTimeUnit\":\"ns\",\"rank\":" << rank_ << ",\"ranks\":" << ranks_ << ",\"traceEvents\":[";
  const char* separator = "\n";
  const std::lock_guard lock(mutex_);
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (const TraceLane& lane : lanes_)
    for (const auto& span : lane.spans_)
      if (span.of.number != 0) places.try_emplace(span.of.number, places.size());
  for (std::size_t worker = 0; worker < lanes_.size(); ++worker) {
    out << separator << R"({"ph":"M","name":"thread_name","pid":0,"tid":)" << worker << R"(,"args":{"name":"worker )"
        << worker << "\"}}";
    separator = ",\n";
    for (const auto& span : lanes_[worker].spans_) {
      out << separator << R"({"ph":"X","pid":0,"tid":)" << worker << ",\"name\":" << json_text(span.task)
          << ",\"ts\":" << microseconds(span.begin - begin_) << ",\"dur\":" << microseconds(span.end - span.begin);
      if (span.of.number != 0) write_order(out, span, places);
      out << '}';
    }
  }
  for (const auto& [first, graph] : graphs_)
    for (const auto& [begin, launch] : graph.launches)
      if (const auto task = places.find(launch.task); task != places.end())
        out << separator << R"({"ph":"i","s":"p","pid":0,"tid":0,"name":"launch","ts":0,"args":{"task":)"
            << task->second << ",\"graph\":" << (first >> bits) << ",\"launch\":" << begin << "}}";
  for (const auto& wait : waits_)
    out << separator << R"({"ph":"i","s":"p","pid":0,"tid":0,"name":"wait","ts":)" << microseconds(wait - begin_)
        << '}';
  out << "\n]}\n";
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + file);
}

}  // namespace taskgrain::rt::detail
