/// What code compiled with -fsanitize=thread calls: here each atomic operation is a step of a simulated schedule.
/// Stores other than seq_cst ones wait in the buffer of their thread. A read-modify-write, a seq_cst store and a fence
/// empty it, as in models/store_buffer.pml. Loads are executed in program order.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "scheduler.hpp"

namespace taskgrain::rt::simulated {
namespace {

template <typename T>
std::uintptr_t place(const volatile T* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

template <typename T>
T load(const volatile T* at) {
  Thread* const me = self();
  if (me == nullptr) return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  point();
  std::uint64_t own = 0;
  if (own_store(*me, place(at), sizeof(T), own)) return static_cast<T>(own);
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

template <typename T>
void save(volatile T* at, T value, int order) {
  Thread* const me = self();
  if (me == nullptr) return __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
  point();
  if (order != __ATOMIC_SEQ_CST)
    return store(*me, place(at), sizeof(T), static_cast<std::uint64_t>(value), order == __ATOMIC_RELAXED);
  drain(*me);
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

/// Before a read-modify-write.
void empty_buffer() {
  Thread* const me = self();
  if (me == nullptr) return;
  point();
  drain(*me);
}

template <typename T>
int compare_exchange(volatile T* at, T* expected, T value, bool weak) {
  empty_buffer();
  if (weak && self() != nullptr && dice(16) == 0) {
    *expected = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    return 0;
  }
  return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void touch_plainly(const void* at, std::size_t bytes) {
  Thread* const me = self();
  if (me != nullptr && !me->stores.empty()) [[unlikely]]
    touch(*me, reinterpret_cast<std::uintptr_t>(at), bytes);
}

/// Memory that a thread frees, it does not write to any more.
void give_back(void* memory) noexcept {
  if (Thread* const me = self()) drain(*me);
  std::free(memory);
}

}  // namespace
}  // namespace taskgrain::rt::simulated

using namespace taskgrain::rt::simulated;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, unsigned long bytes) { touch_plainly(at, bytes); }
void __tsan_write_range(void* at, unsigned long bytes) { touch_plainly(at, bytes); }

#define PLAIN(bytes)                                                        \
  void __tsan_read##bytes(void* at) { touch_plainly(at, bytes); }           \
  void __tsan_write##bytes(void* at) { touch_plainly(at, bytes); }          \
  void __tsan_unaligned_read##bytes(void* at) { touch_plainly(at, bytes); } \
  void __tsan_unaligned_write##bytes(void* at) { touch_plainly(at, bytes); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define READ_MODIFY_WRITE(bits, name, call)                                                                            \
  std::uint##bits##_t __tsan_atomic##bits##_##name(volatile std::uint##bits##_t* at, std::uint##bits##_t value, int) { \
    empty_buffer();                                                                                                    \
    return call(at, value, __ATOMIC_SEQ_CST);                                                                          \
  }
#define ATOMIC(bits)                                                                                                 \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int) { return load(at); }   \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value, int order) {         \
    save(at, value, order);                                                                                          \
  }                                                                                                                  \
  READ_MODIFY_WRITE(bits, exchange, __atomic_exchange_n)                                                             \
  READ_MODIFY_WRITE(bits, fetch_add, __atomic_fetch_add)                                                             \
  READ_MODIFY_WRITE(bits, fetch_sub, __atomic_fetch_sub)                                                             \
  READ_MODIFY_WRITE(bits, fetch_and, __atomic_fetch_and)                                                             \
  READ_MODIFY_WRITE(bits, fetch_or, __atomic_fetch_or)                                                               \
  READ_MODIFY_WRITE(bits, fetch_xor, __atomic_fetch_xor)                                                             \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* at, std::uint##bits##_t* expected, \
                                                    std::uint##bits##_t value, int, int) {                           \
    return compare_exchange(at, expected, value, false);                                                             \
  }                                                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile std::uint##bits##_t* at, std::uint##bits##_t* expected,   \
                                                  std::uint##bits##_t value, int, int) {                             \
    return compare_exchange(at, expected, value, true);                                                              \
  }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order) {
  if (order != __ATOMIC_ACQUIRE) empty_buffer();
}
void __tsan_atomic_signal_fence(int) {}
}

void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
