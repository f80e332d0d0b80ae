/// `taskgrain.Driver`: a system written in a language of the JVM behind the protocol, the flags and the timing of all
/// others.

#include "taskgrain/driver.hpp"

#include <cmath>

#include "jni.hpp"
#include "part.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain_Driver.h"

namespace {

using namespace taskgrain;

class JavaSystem final : public System {
 public:
  JavaSystem(JNIEnv* env, jobject driver) : env_(env), driver_(driver) {}

  std::string name() const override { return string("name"); }
  std::string version() const override { return string("version"); }
  int nodes() const override { return number("nodes"); }
  int cores() const override { return number("cores"); }
  std::vector<std::vector<int>> binding() override {
    const Frame frame(env_);
    const auto rows = static_cast<jobjectArray>(env_->CallObjectMethod(driver_, method("binding", "()[[I")));
    check();
    std::vector<std::vector<int>> all;
    for (jsize k = 0; k < env_->GetArrayLength(rows); ++k)
      all.push_back(jvm::vector(env_, static_cast<jintArray>(env_->GetObjectArrayElement(rows, k))));
    return all;
  }

  void prepare(Execution& run) override {
    part_.emplace(run);
    const Frame frame(env_);
    const jclass type = env_->FindClass("taskgrain/Run");
    const jobject made = env_->NewObject(type, env_->GetMethodID(type, "<init>", "(J)V"), jvm::address(*part_));
    check();
    if (run_ != nullptr) env_->DeleteGlobalRef(run_);
    run_ = env_->NewGlobalRef(made);
    call("prepare");
  }
  void execute(Execution& /*run*/) override { call("execute"); }

  std::optional<Violation> gather(const Execution& run, Accounts& accounts) override {
    if (run.disturbed()) return System::gather(run, accounts);  // the books are those of all processes already
    part_->others.reset();
    call("gather");
    alone_ = !part_->others;
    if (alone_) return System::gather(run, accounts);
    ProcessBooks all = ProcessBooks::of(run);
    all.add(*part_->others);
    accounts = all.accounts;
    peak_rss_bytes_ = std::max(peak_rss_bytes_, all.peak_rss_bytes);
    return all.verify(run);
  }

  double total(double own) override { return alone_ ? own : std::nan(""); }
  std::int64_t peak_rss_bytes() override { return std::max(peak_rss_bytes_, System::peak_rss_bytes()); }

 private:
  /// References to Java's objects, gone with the block.
  struct Frame {
    explicit Frame(JNIEnv* of) : env(of) { env->PushLocalFrame(64); }
    ~Frame() { env->PopLocalFrame(nullptr); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    JNIEnv* env;
  };

  jmethodID method(const char* name, const char* signature) const {
    return env_->GetMethodID(env_->GetObjectClass(driver_), name, signature);
  }

  int number(const char* name) const {
    const jint result = env_->CallIntMethod(driver_, method(name, "()I"));
    check();
    return result;
  }

  std::string string(const char* name) const {
    const Frame frame(env_);
    const auto result = static_cast<jstring>(env_->CallObjectMethod(driver_, method(name, "()Ljava/lang/String;")));
    check();
    return jvm::text(env_, result);
  }

  void call(const char* name) {
    const Frame frame(env_);
    env_->CallVoidMethod(driver_, method(name, "(Ltaskgrain/Run;)V"), run_);
    check();
  }

  /// What Java threw is thrown here.
  void check() const {
    const jthrowable thrown = env_->ExceptionOccurred();
    if (thrown == nullptr) return;
    env_->ExceptionClear();
    const auto is = [&](const char* type) { return env_->IsInstanceOf(thrown, env_->FindClass(type)) == JNI_TRUE; };
    const auto ask = [&](const char* question) {
      const jmethodID id = env_->GetMethodID(env_->GetObjectClass(thrown), question, "()Ljava/lang/String;");
      const auto answer = static_cast<jstring>(env_->CallObjectMethod(thrown, id));
      if (env_->ExceptionCheck() == JNI_TRUE) env_->ExceptionClear();
      return answer == nullptr ? std::string("an exception without a message") : jvm::text(env_, answer);
    };
    if (is("java/lang/UnsupportedOperationException")) throw Unsupported(ask("getMessage"));
    throw std::runtime_error(ask("toString"));
  }

  JNIEnv* env_;
  jobject driver_;
  std::optional<jvm::Part> part_;  ///< of the present run
  jobject run_ = nullptr;          ///< the same in Java
  bool alone_ = false;             ///< known after a run: whether this process executed all tasks
  std::int64_t peak_rss_bytes_ = 0;
};

}  // namespace

extern "C" {

jint Java_taskgrain_Driver_drive(JNIEnv* env, jobject driver, jobjectArray flags) {
  std::vector<std::string> words{"driver"};
  for (jsize k = 0; k < env->GetArrayLength(flags); ++k)
    words.push_back(jvm::text(env, static_cast<jstring>(env->GetObjectArrayElement(flags, k))));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return drive(static_cast<int>(arguments.size()), arguments.data(),
               [&] { return std::make_unique<JavaSystem>(env, driver); });
}

jintArray Java_taskgrain_Driver_processors(JNIEnv* env, jclass) {
  return jvm::guarded(env, [&] { return jvm::array(env, cores()); });
}

void Java_taskgrain_Driver_pinThisThread(JNIEnv* env, jclass, jint processor) {
  jvm::guarded(env, [&] { pin_this_thread(processor); });
}

void Java_taskgrain_Driver_pinThisProcess(JNIEnv* env, jclass, jint processor) {
  jvm::guarded(env, [&] { pin_this_process({processor}); });
}

jintArray Java_taskgrain_Driver_bindingOfThisThread(JNIEnv* env, jclass) {
  return jvm::guarded(env, [&] { return jvm::array(env, binding_of_this_thread()); });
}

}  // extern "C"
