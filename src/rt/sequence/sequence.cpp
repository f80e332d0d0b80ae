#include "taskgrain/rt/sequence.hpp"

#include "sequence/sequence_core.hpp"

namespace taskgrain::rt {

Data::~Data() {
  if (registry_) registry_->release(index_);
}

Sequence::Sequence(Runtime& runtime, SequenceOptions options)
    : core_(std::make_unique<detail::SequenceCore>(runtime, nullptr, std::move(options))) {}

Sequence::Sequence(Runtime& runtime, Communicator& ranks, SequenceOptions options)
    : core_(std::make_unique<detail::SequenceCore>(runtime, &ranks, std::move(options))) {}

Sequence::~Sequence() = default;

Data Sequence::data(std::uint32_t index) {
  Data data;
  data.index_ = index;
  data.registry_ = core_->registry();
  data.id_ = (*data.registry_)[data.index_].id;
  return data;
}

Data Sequence::data(std::span<const detail::Region> regions, std::span<const detail::Region> objects,
                    const DataOptions& options, bool travels) {
  return data(core_->add_data(regions, objects, options, travels));
}

Data Sequence::token(DataOptions options) { return data(core_->add_token(options)); }

Data Sequence::result(const std::shared_ptr<void>& owner, const detail::Region& region, bool travels) {
  return data(core_->add_result(owner, region, travels));
}

void Sequence::add_part(const Data& data, const std::shared_ptr<void>& owner, const detail::Region& region,
                        bool travels) {
  core_->add_part(data.access(Mode::reduce), owner, region, travels);
}

Data Sequence::together(std::initializer_list<const Data*> parts, DataOptions options) {
  std::vector<detail::Region> regions, objects;
  bool travels = true;
  for (const Data* const part : parts) {
    if (part->registry_ != core_->registry())
      detail::throw_usage({"together: a part is of another sequence, or of nothing"});
    const auto& own = std::as_const(*part->registry_)[part->index_];
    regions.insert(regions.end(), own.regions.begin(), own.regions.end());
    objects.insert(objects.end(), own.objects.begin(), own.objects.end());
    travels = travels && own.travels;
  }
  return data(regions, objects, options, travels);
}

detail::TaskFunction& Sequence::begin(std::span<const Access> accesses, const Access* also, TaskOptions&& options,
                                      const detail::EventType* event) {
  return core_->begin(accesses, also, std::move(options), event);
}

void Sequence::end() { core_->end(); }

std::shared_ptr<void> Sequence::joined_reduction(const Data& data, Fold kind, const void* target) {
  return core_->joined_reduction(data.access(Mode::reduce), kind, target);
}

void Sequence::open_reduction(const Data& data, Fold kind, const void* target, std::shared_ptr<void> sum) {
  core_->open_reduction(data.access(Mode::reduce), kind, target, std::move(sum));
}

void Sequence::keep(const Data& data, const std::shared_ptr<void>& sum) { core_->keep(data.access(Mode::reduce), sum); }

void Sequence::loop(std::int64_t iterations, const std::function<void()>& body, const std::string& name) {
  core_->loop(iterations, body, name);
}

void Sequence::trace(std::uint64_t id, const std::function<void()>& body, const std::string& name) {
  core_->trace(id, body, name);
}

const Sequence::TraceStatistics& Sequence::statistics() const noexcept { return core_->statistics(); }

void Sequence::wait() { core_->wait(); }

void Sequence::wait(const Data& data) { core_->wait(data.access(Mode::read)); }

}  // namespace taskgrain::rt
