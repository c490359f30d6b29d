#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

/// A value and the round in which it was written, for thread blocks that are on the device at once: words of 32 bits of
/// the value and the round, each of which is written and read whole. Who finds the round finds the value with it, and
/// needs no fence, which takes longer than the message. Zero before the first round.
template <class C>
struct alignas(sizeof(C) == 4 ? 8 : 16) Message {
  static constexpr int pieces = static_cast<int>(sizeof(C) / 4);
  unsigned long long words[pieces];
};

__device__ inline void put_word(unsigned long long* to, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}
__device__ inline void put_words(unsigned long long* to, unsigned long long first, unsigned long long second) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
}
__device__ inline void get_word(const unsigned long long* from, unsigned long long& word) {
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
}
__device__ inline void get_words(const unsigned long long* from, unsigned long long& first,
                                 unsigned long long& second) {
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(from) : "memory");
}

template <class C>
__device__ void put(Message<C>& message, unsigned round, const C& value) {
  unsigned bits[Message<C>::pieces];
  memcpy(bits, &value, sizeof(C));
  const auto word = [&](int k) { return static_cast<unsigned long long>(bits[k]) << 32 | round; };
  if constexpr (Message<C>::pieces == 1) {
    put_word(message.words, word(0));
  } else {
#pragma unroll
    for (int k = 0; k < Message<C>::pieces; k += 2) put_words(message.words + k, word(k), word(k + 1));
  }
}

/// Whether the message is of this round; `value` is what it says then.
template <class C>
__device__ bool get(const Message<C>& message, unsigned round, C& value) {
  unsigned long long words[Message<C>::pieces];
  if constexpr (Message<C>::pieces == 1) {
    get_word(message.words, words[0]);
  } else {
#pragma unroll
    for (int k = 0; k < Message<C>::pieces; k += 2) get_words(message.words + k, words[k], words[k + 1]);
  }
  bool is_there = true;
  unsigned bits[Message<C>::pieces];
#pragma unroll
  for (int k = 0; k < Message<C>::pieces; ++k) {
    is_there = is_there && static_cast<unsigned>(words[k]) == round;
    bits[k] = static_cast<unsigned>(words[k] >> 32);
  }
  memcpy(&value, bits, sizeof(C));
  return is_there;
}

/// The round after this one: no message is of round 0, and sets of messages go on in turn.
__device__ inline unsigned next_round(unsigned round) { return round == ~0u ? 2 : round + 1; }

/// The later round of two messages, of consecutive ones: also where the count begins anew.
__device__ inline unsigned last_round(const Message<double>& even, const Message<double>& odd) {
  const auto round_of = [](const Message<double>& message) {
    unsigned long long first, second;
    get_words(message.words, first, second);
    return static_cast<unsigned>(first);
  };
  const unsigned a = round_of(even), b = round_of(odd);
  return static_cast<int>(b - a) > 0 ? b : a;
}

/// Waits for the message of this round.
template <class C>
__device__ C receive(const Message<C>& message, unsigned round) {
  C value;
  while (!get(message, round, value)) {
  }
  return value;
}

/// The sum of the messages `lane`, `lane` + 32, ... of `count`, once all are of this round; several are on the way at
/// once.
__device__ inline double sum_of_messages(const Message<double>* messages, int count, unsigned round, int lane) {
  constexpr int K = 8;
  double sum = 0.0;
  for (int base = lane; base < count; base += 32 * K) {
    double told[K] = {};
    bool waits = true;
    while (waits) {
      waits = false;
#pragma unroll
      for (int i = 0; i < K; ++i)
        if (base + 32 * i < count) waits = !get(messages[base + 32 * i], round, told[i]) || waits;
    }
#pragma unroll
    for (int i = 0; i < K; ++i) sum += told[i];
  }
  return sum;
}

}  // namespace blockjacobi::kernels
