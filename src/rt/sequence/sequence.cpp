#include "taskgrain/rt/sequence.hpp"

#include "sequence/sequence_core.hpp"

namespace taskgrain::rt {

Data::~Data() {
  if (registry_) registry_->release(index_);
}
std::unique_ptr<detail::SequenceCore> detail::SequenceCore::make(Runtime& runtime, Communicator* ranks,
                                                                 SequenceOptions&& options) {
  return std::make_unique<SequenceImpl>(runtime, ranks, std::move(options));
}

Data Sequence::data(std::uint32_t index) {
  Data data;
  data.index_ = index;
  data.registry_ = core_->registry();
  data.id_ = (*data.registry_)[data.index_].id;
  return data;
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
  return data(core_->add_data(regions, objects, options, travels));
}

}  // namespace taskgrain::rt
