#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace porthole::cel {

/// Counts the work of evaluations and reports when it exceeds its limits. CEL's costs do not limit it: they count only the outermost list
/// or map of a comparison, and nothing for the size of most results. Since values share their parts, `[[1]].map(x, [x, x])`, applied some
/// forty times, is a small value of 2^40 parts.
///
/// A step is an evaluated part of an expression, a visited value, or 64 bytes of text that are read. Bytes are those of created lists, maps
/// and texts, including those already freed. Functions that traverse values stop when the work is used up, with a meaningless result: the
/// evaluator then ends the evaluation. Used by one thread.
class Work {
public:
    struct Limits {
        std::uint64_t steps = UINT64_MAX, bytes = UINT64_MAX;
    };
    Work() = default;  ///< without limits
    explicit Work(Limits limits) : limits_(limits) {}

    // Each yields false if the work is used up.
    bool look(std::uint64_t values = 1) {
        steps_ += std::min(values, UINT64_MAX - steps_);
        return !is_used_up();
    }
    bool read(std::size_t text_size) { return look(text_size / BytesInStep); }
    bool make(std::uint64_t size) {
        bytes_ += std::min(size, UINT64_MAX - bytes_);
        return !is_used_up();
    }

    void use_up() { is_ended_ = true; }
    bool is_used_up() const { return is_ended_ || steps_ > limits_.steps || bytes_ > limits_.bytes; }
    std::uint64_t steps() const { return steps_; }

private:
    static constexpr std::size_t BytesInStep = 64;

    Limits limits_;
    std::uint64_t steps_ = 0, bytes_ = 0;
    bool is_ended_ = false;
};

}  // namespace porthole::cel
