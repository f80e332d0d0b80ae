/// `taskgrain.Run`: the graphs of a run, and how their tasks are executed.

#include <nlohmann/json.hpp>

#include "jni.hpp"
#include "part.hpp"
#include "taskgrain_Run.h"

namespace {

using namespace taskgrain;

constexpr std::size_t line = 64;  // bytes; no two inputs share a cache line

jvm::Part& part(JNIEnv* env, jobject run) {
  static const jfieldID field = env->GetFieldID(env->GetObjectClass(run), "address", "J");
  return jvm::part_at(env->GetLongField(run, field));
}

Execution& execution(JNIEnv* env, jobject run) { return part(env, run).execution; }

const Graph& graph(JNIEnv* env, jobject run, jint g) {
  return execution(env, run).graphs()[static_cast<std::size_t>(g)];
}

jlongArray array(JNIEnv* env, const Points& points) {
  thread_local std::vector<jlong> all;
  all.clear();
  for (const Interval interval : points)
    for (std::int64_t point = interval.first; point <= interval.last; ++point) all.push_back(point);
  const auto size = static_cast<jsize>(all.size());
  const jlongArray result = env->NewLongArray(size);
  if (result != nullptr) env->SetLongArrayRegion(result, 0, size, all.data());
  return result;
}

}  // namespace

extern "C" {

jlong Java_taskgrain_Run_create(JNIEnv* env, jclass, jstring request) {
  return jvm::guarded(
      env, [&] { return jvm::address(*new jvm::Part(run_request(nlohmann::json::parse(jvm::text(env, request))))); });
}
void Java_taskgrain_Run_destroy(JNIEnv*, jclass, jlong address) { delete &jvm::part_at(address); }
jstring Java_taskgrain_Run_request(JNIEnv* env, jobject run) {
  return env->NewStringUTF(request_of(execution(env, run)).dump().c_str());
}

jint Java_taskgrain_Run_graphs(JNIEnv* env, jobject run) {
  return static_cast<jint>(execution(env, run).graphs().size());
}
jlong Java_taskgrain_Run_steps(JNIEnv* env, jobject run, jint g) { return graph(env, run, g).steps(); }
jlong Java_taskgrain_Run_width(JNIEnv* env, jobject run, jint g) { return graph(env, run, g).width(); }
jlong Java_taskgrain_Run_outputBytes(JNIEnv* env, jobject run, jint g) {
  return static_cast<jlong>(graph(env, run, g).output_bytes());
}
jlong Java_taskgrain_Run_firstPoint(JNIEnv* env, jobject run, jint g, jlong step) {
  return graph(env, run, g).points(step).first;
}
jlong Java_taskgrain_Run_lastPoint(JNIEnv* env, jobject run, jint g, jlong step) {
  return graph(env, run, g).points(step).last;
}
jlongArray Java_taskgrain_Run_deps(JNIEnv* env, jobject run, jint g, jlong step, jlong point) {
  return array(env, graph(env, run, g).deps(step, point));
}
jlongArray Java_taskgrain_Run_reverseDeps(JNIEnv* env, jobject run, jint g, jlong step, jlong point) {
  return array(env, graph(env, run, g).reverse_deps(step, point));
}

/// Copies, because whoever looks into Java's memory holds up its collector, here for as long as a kernel runs.
void Java_taskgrain_Run_executePoint(JNIEnv* env, jobject run, jint worker, jint g, jlong step, jlong point,
                                     jbyteArray output, jobjectArray inputs) {
  thread_local std::vector<std::byte> memory;
  thread_local std::vector<const std::byte*> places;
  jvm::guarded(env, [&] {
    Execution& all = execution(env, run);
    const std::size_t bytes = all.graphs()[static_cast<std::size_t>(g)].output_bytes();
    const std::size_t stride = (bytes + line - 1) / line * line;
    const auto size = static_cast<jsize>(bytes);
    const jsize count = env->GetArrayLength(inputs);
    memory.resize((static_cast<std::size_t>(count) + 1) * stride);
    places.clear();
    for (jsize k = 0; k < count; ++k) {
      std::byte* place = memory.data() + static_cast<std::size_t>(k + 1) * stride;
      const auto input = static_cast<jbyteArray>(env->GetObjectArrayElement(inputs, k));
      env->GetByteArrayRegion(input, 0, size, reinterpret_cast<jbyte*>(place));
      if (env->ExceptionCheck() == JNI_TRUE) return;  // an input that is too short
      env->DeleteLocalRef(input);
      places.push_back(place);
    }
    all.execute_point(all.context(static_cast<std::size_t>(worker)), static_cast<std::size_t>(g), step, point,
                      memory.data(), places);
    env->SetByteArrayRegion(output, 0, size, reinterpret_cast<const jbyte*>(memory.data()));
  });
}

jbyteArray Java_taskgrain_Run_books(JNIEnv* env, jobject run) {
  return jvm::guarded(env, [&] {
    const std::vector<std::uint8_t> bytes = ProcessBooks::of(execution(env, run)).bytes();
    execution(env, run).clear();
    const auto size = static_cast<jsize>(bytes.size());
    const jbyteArray result = env->NewByteArray(size);
    if (result != nullptr) env->SetByteArrayRegion(result, 0, size, reinterpret_cast<const jbyte*>(bytes.data()));
    return result;
  });
}

void Java_taskgrain_Run_add(JNIEnv* env, jobject run, jbyteArray books) {
  jvm::guarded(env, [&] {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(env->GetArrayLength(books)));
    env->GetByteArrayRegion(books, 0, static_cast<jsize>(bytes.size()), reinterpret_cast<jbyte*>(bytes.data()));
    std::optional<ProcessBooks>& others = part(env, run).others;
    if (others)
      others->add(ProcessBooks::from(bytes));
    else
      others = ProcessBooks::from(bytes);
  });
}

}  // extern "C"
