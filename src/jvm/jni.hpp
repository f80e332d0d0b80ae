#pragma once

/// Between C++ and Java: texts, arrays and exceptions.

#include <jni.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace taskgrain::jvm {

inline std::string text(JNIEnv* env, jstring string) {
  const char* chars = env->GetStringUTFChars(string, nullptr);
  const std::string copy(chars);
  env->ReleaseStringUTFChars(string, chars);
  return copy;
}

inline jintArray array(JNIEnv* env, std::span<const int> values) {
  const auto size = static_cast<jsize>(values.size());
  const jintArray result = env->NewIntArray(size);
  if (result != nullptr) env->SetIntArrayRegion(result, 0, size, values.data());
  return result;
}

inline std::vector<int> vector(JNIEnv* env, jintArray values) {
  std::vector<int> result(static_cast<std::size_t>(env->GetArrayLength(values)));
  env->GetIntArrayRegion(values, 0, static_cast<jsize>(result.size()), result.data());
  return result;
}

/// Calls `body`; what it throws is thrown in Java.
template <typename Body>
auto guarded(JNIEnv* env, Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    if (env->ExceptionCheck() == JNI_FALSE) env->ThrowNew(env->FindClass("java/lang/RuntimeException"), error.what());
    return decltype(body())();
  }
}

}  // namespace taskgrain::jvm
